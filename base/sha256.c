#include "base/sha256.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define BLOCK 64
#define WORDS 8

/* FIPS 180-4: the first 32 bits of the fractional parts of the cube roots of
 * the first 64 primes. */
static const uint32_t round_constants[64] = {
    0x428a2f98,
    0x71374491,
    0xb5c0fbcf,
    0xe9b5dba5,
    0x3956c25b,
    0x59f111f1,
    0x923f82a4,
    0xab1c5ed5,
    0xd807aa98,
    0x12835b01,
    0x243185be,
    0x550c7dc3,
    0x72be5d74,
    0x80deb1fe,
    0x9bdc06a7,
    0xc19bf174,
    0xe49b69c1,
    0xefbe4786,
    0x0fc19dc6,
    0x240ca1cc,
    0x2de92c6f,
    0x4a7484aa,
    0x5cb0a9dc,
    0x76f988da,
    0x983e5152,
    0xa831c66d,
    0xb00327c8,
    0xbf597fc7,
    0xc6e00bf3,
    0xd5a79147,
    0x06ca6351,
    0x14292967,
    0x27b70a85,
    0x2e1b2138,
    0x4d2c6dfc,
    0x53380d13,
    0x650a7354,
    0x766a0abb,
    0x81c2c92e,
    0x92722c85,
    0xa2bfe8a1,
    0xa81a664b,
    0xc24b8b70,
    0xc76c51a3,
    0xd192e819,
    0xd6990624,
    0xf40e3585,
    0x106aa070,
    0x19a4c116,
    0x1e376c08,
    0x2748774c,
    0x34b0bcb5,
    0x391c0cb3,
    0x4ed8aa4a,
    0x5b9cca4f,
    0x682e6ff3,
    0x748f82ee,
    0x78a5636f,
    0x84c87814,
    0x8cc70208,
    0x90befffa,
    0xa4506ceb,
    0xbef9a3f7,
    0xc67178f2,
};

static uint32_t
rotate(uint32_t v, unsigned int by)
{
	return v >> by | v << (32 - by);
}

static void
expand(const uint8_t block[BLOCK], uint32_t w[64])
{
	for (unsigned int i = 0; i < 16; i++)
		w[i] = (uint32_t)block[4 * i] << 24 |
		       (uint32_t)block[4 * i + 1] << 16 |
		       (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
	for (unsigned int i = 16; i < 64; i++) {
		uint32_t a = w[i - 15], b = w[i - 2];

		w[i] = w[i - 16] + w[i - 7] +
		       (rotate(a, 7) ^ rotate(a, 18) ^ a >> 3) +
		       (rotate(b, 17) ^ rotate(b, 19) ^ b >> 10);
	}
}

static void
compress(uint32_t h[WORDS], const uint8_t block[BLOCK])
{
	uint32_t w[64], s[WORDS];

	expand(block, w);
	memcpy(s, h, sizeof s);
	for (unsigned int i = 0; i < 64; i++) {
		uint32_t sum1 =
		    rotate(s[4], 6) ^ rotate(s[4], 11) ^ rotate(s[4], 25);
		uint32_t sum0 =
		    rotate(s[0], 2) ^ rotate(s[0], 13) ^ rotate(s[0], 22);
		uint32_t choice = (s[4] & s[5]) ^ (~s[4] & s[6]);
		uint32_t majority =
		    (s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]);
		uint32_t t1 = s[7] + sum1 + choice + round_constants[i] + w[i];

		memmove(s + 1, s, 7 * sizeof s[0]);
		s[4] += t1;
		s[0] = t1 + sum0 + majority;
	}
	for (unsigned int i = 0; i < WORDS; i++)
		h[i] += s[i];
}

/* The rest, a one bit, zeros, and the length in bits. */
static void
finish(uint32_t h[WORDS], const uint8_t *rest, size_t rest_len, uint64_t len)
{
	uint8_t tail[2 * BLOCK] = {0};
	size_t size = rest_len < BLOCK - 8 ? BLOCK : 2 * BLOCK;

	if (rest_len > 0)
		memcpy(tail, rest, rest_len);
	tail[rest_len] = 0x80;
	for (unsigned int i = 0; i < 8; i++)
		tail[size - 1 - i] = (uint8_t)(len * 8 >> 8 * i);
	compress(h, tail);
	if (size > BLOCK)
		compress(h, tail + BLOCK);
}

void
sha256(struct bytes data, uint8_t out[SHA256_SIZE])
{
	uint32_t h[WORDS] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
	    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
	size_t i = 0;

	for (; data.len - i >= BLOCK; i += BLOCK)
		compress(h, data.data + i);
	finish(h, data.len > i ? data.data + i : NULL, data.len - i, data.len);
	for (i = 0; i < SHA256_SIZE; i++)
		out[i] = (uint8_t)(h[i / 4] >> (24 - 8 * (i % 4)));
}

static void
to_hex(const uint8_t digest[SHA256_SIZE], char out[SHA256_HEX_SIZE])
{
	for (size_t i = 0; i < SHA256_SIZE; i++)
		(void)snprintf(out + 2 * i, 3, "%02x", digest[i]);
}

void
sha256_hex(struct bytes data, char out[SHA256_HEX_SIZE])
{
	uint8_t digest[SHA256_SIZE];

	sha256(data, digest);
	to_hex(digest, out);
}

int
hmac_sha256_hex(struct bytes key, struct bytes data, char out[SHA256_HEX_SIZE])
{
	uint8_t outer[BLOCK + SHA256_SIZE] = {0}, inner[BLOCK],
			      digest[SHA256_SIZE];
	scoped_buf text;

	buf_init(&text, SIZE_MAX);
	if (key.len > BLOCK)
		sha256(key, outer);
	else if (key.len > 0)
		memcpy(outer, key.data, key.len);
	for (size_t i = 0; i < BLOCK; i++) {
		inner[i] = outer[i] ^ 0x36;
		outer[i] ^= 0x5c;
	}
	int r = buf_reserve(&text, BLOCK + data.len);

	if (r == 0)
		r = buf_put(&text, inner, BLOCK);
	if (r == 0)
		r = buf_put(&text, data.data, data.len);
	if (r == 0) {
		sha256((struct bytes){text.data, text.len}, outer + BLOCK);
		explicit_bzero(text.data, BLOCK);
		sha256((struct bytes){outer, sizeof outer}, digest);
		to_hex(digest, out);
	}
	explicit_bzero(outer, sizeof outer);
	explicit_bzero(inner, sizeof inner);
	return r < 0 ? -ENOMEM : 0;
}
