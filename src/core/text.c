/* Text from outside made harmless; see text.h. */
#include "core/text.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Bytes of the UTF-8 character that begins here and its code point; 0: there is none. */
static size_t decode(const unsigned char *at, uint32_t *code_out)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000}; /* shorter forms are no UTF-8 */
    size_t length = at[0] < 0x80 ? 1 : at[0] >> 5 == 0x6 ? 2 : at[0] >> 4 == 0xe ? 3 : 4;
    uint32_t code = length == 1 ? at[0] : at[0] & (0xffU >> (length + 1));

    if (length == 4 && at[0] >> 3 != 0x1e)
        return 0;
    for (size_t i = 1; i < length; i++) {
        if (at[i] >> 6 != 0x2) /* the end of the text too */
            return 0;
        code = code << 6 | (at[i] & 0x3fU);
    }
    *code_out = code;
    return code < least[length] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000) ? 0
                                                                                        : length;
}

/* Does it show as itself, and nothing more? */
static bool is_printable(uint32_t code)
{
    static const struct {
        uint32_t first, last;
    } bad[] = {
        {0x00, 0x1f},     {0x7f, 0x9f},     {0xad, 0xad},       {0x61c, 0x61c},
        {0x180e, 0x180e}, {0x200b, 0x200f}, {0x2028, 0x202e},   {0x2060, 0x206f},
        {0xfeff, 0xfeff}, {0xfff9, 0xfffb}, {0xe0000, 0xe007f},
    };

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        if (code >= bad[i].first && code <= bad[i].last)
            return false;
    return true;
}

void pb_text_escape(char *escaped_out, size_t size, const char *text)
{
    const unsigned char *at = (const unsigned char *)text;
    size_t used = 0;

    while (*at != '\0') {
        uint32_t code = 0;
        size_t length = decode(at, &code);
        char escaped[] = "\\x00";
        bool shows = length > 0 && is_printable(code);
        size_t needed = shows ? length : sizeof(escaped) - 1;

        if (used + needed + 1 > size)
            break;
        if (!shows)
            snprintf(escaped, sizeof(escaped), "\\x%02x", *at);
        memcpy(escaped_out + used, shows ? (const char *)at : escaped, needed);
        used += needed;
        at += shows ? length : 1;
    }
    if (size > 0)
        escaped_out[used] = '\0';
}

bool pb_text_is_host(const char *name)
{
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";

    return name[0] != '\0' && name[0] != '-' && name[strspn(name, allowed)] == '\0';
}
