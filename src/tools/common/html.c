/* html.c - escaping and base64 (RFC 4648). */
#include "html.h"

void cli_html_text(FILE *file, const char *text) {
    const unsigned char *s = (const unsigned char *)text;
    while (*s) {
        int length = cli_utf8_length(s);
        bool none = length == 3 && s[0] == 0xEF && s[1] == 0xBF && s[2] >= 0xBE; /* U+FFFE, FFFF */
        if (length == 0 || none || *s < ' ' || *s == 127)
            fputs("\xef\xbf\xbd", file);
        else if (*s == '&')
            fputs("&amp;", file);
        else if (*s == '<')
            fputs("&lt;", file);
        else if (*s == '>')
            fputs("&gt;", file);
        else if (*s == '"')
            fputs("&quot;", file);
        else if (*s == '\'')
            fputs("&#39;", file);
        else
            fwrite(s, 1, (size_t)length, file);
        s += length ? length : 1;
    }
}

void cli_html_png(FILE *file, const uint8_t *bytes, size_t n) {
    static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    fputs("src=\"data:image/png;base64,", file);
    for (size_t i = 0; i < n; i += 3) {
        size_t have = n - i < 3 ? n - i : 3;
        uint32_t word = (uint32_t)bytes[i] << 16;
        if (have > 1) word |= (uint32_t)bytes[i + 1] << 8;
        if (have > 2) word |= bytes[i + 2];
        fputc(digit[word >> 18], file);
        fputc(digit[word >> 12 & 63], file);
        fputc(have > 1 ? digit[word >> 6 & 63] : '=', file);
        fputc(have > 2 ? digit[word & 63] : '=', file);
    }
    fputc('"', file);
}
