/* The stream of object data compiled for AVX-512 (F, BW, DQ, VL). data.c calls it only where the
 * processor supports it. Empty on other than x86-64. */
#if defined(__x86_64__)

#include <immintrin.h>

#define DATA_VECTOR   64
#define DATA_REGISTER __m512i
#define DATA_MUL32    _mm512_mul_epu32
#define DATA_STREAM   _mm512_stream_si512
#include "lib/data/stream.h"

const struct data_code data_code_avx512 = DATA_CODE("avx512");

#endif
