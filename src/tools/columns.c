/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/tools/columns.h"

enum { COLUMNS_GAP = 2 };

static size_t columns_measure(const char *word)
{
	size_t width = 0;
	for (; *word != '\0'; word++) {
		width += ((unsigned char)*word & 0xC0) != 0x80;
	}
	return width;
}

void columns_print(FILE *out, char *const words[], size_t count, size_t width)
{
	size_t widest = 1;
	for (size_t i = 0; i < count; i++) {
		size_t word_width = columns_measure(words[i]);
		widest = word_width > widest ? word_width : widest;
	}
	/* The last column needs no gap. */
	size_t columns = (width + COLUMNS_GAP) / (widest + COLUMNS_GAP);
	columns = columns > 0 ? columns : 1;
	size_t rows = (count + columns - 1) / columns;
	for (size_t row = 0; row < rows; row++) {
		for (size_t i = row; i < count; i += rows) {
			size_t gap = i + rows < count ? widest + COLUMNS_GAP - columns_measure(words[i]) : 0;
			fprintf(out, "%s%*s", words[i], (int)gap, "");
		}
		fputc('\n', out);
	}
}
