#include "base/utf8.h"

static bool
continues(const uint8_t *s, size_t count)
{
	for (size_t i = 1; i <= count; i++)
		if ((s[i] & 0xc0) != 0x80)
			return false;
	return true;
}

size_t
utf8_sequence(const uint8_t *s, size_t len)
{
	if (s[0] < 0x80)
		return 1;
	if (s[0] >= 0xc2 && s[0] <= 0xdf)
		return len >= 2 && continues(s, 1) ? 2 : 0;
	if ((s[0] & 0xf0) == 0xe0) {
		if (len < 3 || !continues(s, 2))
			return 0;
		if ((s[0] == 0xe0 && s[1] < 0xa0) ||
		    (s[0] == 0xed && s[1] > 0x9f))
			return 0;
		return 3;
	}
	if (s[0] >= 0xf0 && s[0] <= 0xf4) {
		if (len < 4 || !continues(s, 3))
			return 0;
		if ((s[0] == 0xf0 && s[1] < 0x90) ||
		    (s[0] == 0xf4 && s[1] > 0x8f))
			return 0;
		return 4;
	}
	return 0;
}

bool
utf8_valid(const uint8_t *s, size_t len)
{
	while (len > 0) {
		size_t n = utf8_sequence(s, len);

		if (n == 0)
			return false;
		s += n;
		len -= n;
	}
	return true;
}
