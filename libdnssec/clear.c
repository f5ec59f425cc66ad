/* SPDX-License-Identifier: BSD-2-Clause */
#include "libdnssec/clear.h"

#include <malloc.h>
#include <openssl/crypto.h>
#include <stdlib.h>
#include <string.h>

static void *clear_malloc(size_t size, const char *file, int line)
{
	(void)file, (void)line;
	return malloc(size);
}

static void clear_free(void *memory, const char *file, int line)
{
	(void)file, (void)line;
	if (memory != NULL) {
		OPENSSL_cleanse(memory, malloc_usable_size(memory));
		free(memory);
	}
}

static void *clear_realloc(void *memory, size_t size, const char *file, int line)
{
	size_t before = memory != NULL ? malloc_usable_size(memory) : 0;
	if (size == 0) {
		clear_free(memory, file, line);
		return NULL;
	}
	void *grown = malloc(size);
	if (grown != NULL && memory != NULL) {
		memcpy(grown, memory, before < size ? before : size);
		clear_free(memory, file, line);
	}
	return grown;
}

bool dnssec_clear_freed_memory(void)
{
	return CRYPTO_set_mem_functions(clear_malloc, clear_realloc, clear_free) == 1;
}
