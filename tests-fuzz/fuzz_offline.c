/* SPDX-License-Identifier: BSD-2-Clause */
/* Signed key responses, as text and as records of the key database; what is read is printed, and read as the same. */
#include "src/kasp/offline_text.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static const uint8_t zone_wire[] = "\1a";
static const knot_name_t zone = { zone_wire, 3, 1 };
static const char keyword[] = "SignedKeyResponse", head[] = ";; SignedKeyResponse 1.0 ";

static void fuzz_offline_check(bool is_good)
{
	if (!is_good) {
		abort();
	}
}

static void fuzz_offline_repeat(const kasp_offline_file_t *file)
{
	char *text;
	size_t len;
	uint64_t line;
	kasp_offline_file_t again;
	FILE *out = open_memstream(&text, &len);
	fuzz_offline_check(out != NULL);
	for (size_t i = 0; i < file->count; i++) {
		kasp_offline_print(head, file->sections[i].when_s, &file->sections[i].records, zone, out);
	}
	kasp_offline_print_end(head, 0, "Test 1", out);
	fuzz_offline_check(fclose(out) == 0);
	fuzz_offline_check(kasp_offline_parse((knot_str_t){ text, len }, keyword, zone, &again, &line) == KNOT_OK);
	fuzz_offline_check(again.count == file->count);
	for (size_t i = 0; i < file->count; i++) {
		fuzz_offline_check(kasp_offline_len(&file->sections[i].records, zone) ==
				   kasp_offline_len(&again.sections[i].records, zone));
	}
	kasp_offline_file_done(&again);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	kasp_offline_file_t file;
	kasp_offline_t offline;
	uint64_t line;
	if (kasp_offline_parse((knot_str_t){ (const char *)data, len }, keyword, zone, &file, &line) == KNOT_OK) {
		fuzz_offline_repeat(&file);
		kasp_offline_file_done(&file);
	}
	if (kasp_offline_read((knot_bytes_t){ data, len }, zone, &offline) == KNOT_OK) {
		kasp_offline_done(&offline);
	}
	return 0;
}
