# eviction.awk - hits of a cache of blocks of one size, for eviction.t: each policy by its definition, without care for
# speed. Reads one key a line; variables: policy, capacity (blocks). Sources: SIEVE, Zhang et al., NSDI 2024; S3-FIFO,
# Yang et al., SOSP 2023: the small queue has a tenth of the blocks, and two reads move a block on to the main queue;
# ARC, Megiddo and Modha, FAST 2003, but the target moves after the eviction.

# The cached key with the least value.
function least(value,    key, found) {
    found = ""
    for (key in cached) if (found == "" || value[key] < value[found]) found = key
    return found
}

function victim_lfu(    key) {
    for (key in cached) rank[key] = uses[key] * 1e6 + last_use[key]
    return least(rank)
}

# The first arrival from n on that is still cached, or the number of arrivals.
function cached_from(n) {
    while (n < arrivals && !(arrived[n] in cached && arrival[arrived[n]] == n)) n++
    return n
}

# The hand goes from the oldest to the newest, spares what was read since it last came by, and begins again.
function victim_sieve(    key) {
    for (;;) {
        hand = cached_from(hand)
        if (hand == arrivals) { hand = 0; continue }
        key = arrived[hand]
        if (!reads[key]) { hand = cached_from(hand + 1) % arrivals; return key }
        reads[key] = 0
        hand++
    }
}

function oldest(queue,    key, found) {
    found = ""
    for (key in cached)
        if (queue_of[key] == queue && (found == "" || arrival[key] < arrival[found])) found = key
    return found
}
function move(key, queue) {
    length_of[queue_of[key]]--
    length_of[queue]++
    queue_of[key] = queue
    arrival[key] = arrivals++
}
# Ghosts are the keys that left the small queue, at most as many as the main queue holds: nine tenths of the blocks.
function remember(key,    oldest_ghost) {
    ghost_at[ghosts_last++] = key
    ghost[key] = ghosts_last
    for (ghosts++; ghosts > count - int(count / 10);) {
        oldest_ghost = ghost_at[ghosts_first++]
        if (oldest_ghost in ghost && ghost[oldest_ghost] == ghosts_first) { delete ghost[oldest_ghost]; ghosts-- }
    }
}
function victim_s3fifo(    key) {
    while (length_of["small"] > 0 && (length_of["main"] == 0 || length_of["small"] >= int(count / 10))) {
        key = oldest("small")
        if (reads[key] < 2) { length_of["small"]--; remember(key); return key }
        reads[key] = 0
        move(key, "main")
    }
    while (reads[key = oldest("main")] > 0) { reads[key]--; move(key, "main") }
    length_of["main"]--
    return key
}
function enter_s3fifo(key) {
    queue_of[key] = "small"
    if (key in ghost) { queue_of[key] = "main"; delete ghost[key]; ghosts-- }
    length_of[queue_of[key]]++
}

# ARC: T1 and T2 by last use, B1 and B2 by when a key left; in_list is the length of each.
function last_of(list, value,    key, found) {
    found = ""
    for (key in list_of) if (list_of[key] == list && (found == "" || value[key] < value[found])) found = key
    return found
}
function leave(key) { in_list[list_of[key]]--; delete list_of[key] }
function join(key, list) { in_list[list]++; list_of[key] = list }
function trim() {
    while (in_list["B1"] > 0 && in_list["T1"] + in_list["B1"] > capacity) leave(last_of("B1", left_at))
    while (in_list["B2"] > 0 && in_list["T1"] + in_list["B1"] + in_list["T2"] + in_list["B2"] > 2 * capacity)
        leave(last_of("B2", left_at))
}
function victim_arc(    from, key) {
    from = in_list["T1"] > 0 && (in_list["T1"] > target || in_list["T2"] == 0) ? "T1" : "T2"
    key = last_of(from, last_use)
    leave(key)
    join(key, from == "T1" ? "B1" : "B2")
    left_at[key] = departures++
    trim()
    return key
}
function ratio(other, own) { return other > own ? int(other / own) : 1 }
function enter_arc(key,    b1, b2) {
    b1 = in_list["B1"]
    b2 = in_list["B2"]
    if (!(key in list_of)) { join(key, "T1"); trim(); return }
    if (list_of[key] == "B1") target += ratio(b2, b1)
    else target -= ratio(b1, b2)
    if (target > capacity) target = capacity
    if (target < 0) target = 0
    leave(key)
    join(key, "T2")
    trim()
}

function victim(    key) {
    if (policy == "arc") return victim_arc()
    if (policy == "mru") { for (key in cached) rank[key] = -last_use[key]; return least(rank) }
    if (policy == "lru") return least(last_use)
    if (policy == "fifo") return least(arrival)
    if (policy == "lfu") return victim_lfu()
    if (policy == "sieve") return victim_sieve()
    return victim_s3fifo()
}

$1 in cached {
    hits++
    uses[$1]++
    if (reads[$1] < 3) reads[$1]++
    last_use[$1] = NR
    if (policy == "arc") { leave($1); join($1, "T2") }
    next
}
{
    if (count == capacity) { delete cached[victim()]; count-- }
    cached[$1]
    count++
    uses[$1] = 1
    reads[$1] = 0
    last_use[$1] = NR
    arrival[$1] = arrivals
    arrived[arrivals++] = $1
    if (policy == "s3fifo") enter_s3fifo($1)
    if (policy == "arc") enter_arc($1)
}
END { print hits }
