/* The stream of object data compiled for AVX2. data.c calls it only where the processor
 * supports it. Empty on other than x86-64. */
#if defined(__x86_64__)

#include <immintrin.h>

#define DATA_VECTOR   32
#define DATA_REGISTER __m256i
#define DATA_MUL32    _mm256_mul_epu32
#define DATA_STREAM   _mm256_stream_si256
#include "lib/data/stream.h"

const struct data_code data_code_avx2 = DATA_CODE("avx2");

#endif
