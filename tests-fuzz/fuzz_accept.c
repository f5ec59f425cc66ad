/* SPDX-License-Identifier: BSD-2-Clause */
/* The HTTP header Accept of whoever asks the metrics endpoint. A client that doesn't name OpenMetrics never gets it. */
#include "src/control/metrics_text.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* Exactly as long as it is, so that a sanitizer sees a byte more being read. */
	char *accept = malloc(size + 1);
	if (accept == NULL) {
		return 0;
	}
	memcpy(accept, data, size);
	accept[size] = '\0';
	if (metrics_negotiate(accept) == METRICS_OPENMETRICS &&
			strcasestr(accept, "application/openmetrics-text") == NULL) {
		abort();
	}
	free(accept);
	return 0;
}
