/* Between main and tracefs: the right is in force only while files of tracefs are opened, written
 * or removed, and not while events are read and passed on. Source: capabilities(7). */
#include "kvreplay/helper/rights.h"

#include <errno.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define RIGHT (1u << CAP_DAC_OVERRIDE) /* in the first of the two words */

/* Leaves of the permitted capabilities the one, in force or not. */
int rights_use(bool on)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct cap[_LINUX_CAPABILITY_U32S_3] = {0};

    if (syscall(SYS_capget, &head, cap) < 0)
        return -errno;
    __u32 permitted = cap[0].permitted & RIGHT;
    cap[0] =
        (struct __user_cap_data_struct){.permitted = permitted, .effective = on ? permitted : 0};
    cap[1] = (struct __user_cap_data_struct){0};
    return syscall(SYS_capset, &head, cap) < 0 ? -errno : 0;
}

int rights_limit(void)
{
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 ||
        prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0)
        return -errno;
    return rights_use(false);
}
