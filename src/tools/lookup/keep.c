/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/tools/lookup/keep.h"

#include <stdlib.h>

/* The strings of the parameters: lines of a file of queries, for one, don't live as long as a connection. */
static const char **keep_text_at(exchange_params_t *params, unsigned index)
{
	const char **texts[] = { &params->hostname, &params->sni, &params->http.authority, &params->http.path };
	return index < KNOT_LEN(texts) ? texts[index] : NULL;
}

void lookup_drop_kept(lookup_t *lookup)
{
	const char **text;
	exchange_free(lookup->kept);
	for (unsigned i = 0; (text = keep_text_at(&lookup->kept_params, i)) != NULL; i++) {
		free((char *)*text);
	}
	lookup->kept = NULL;
	lookup->kept_params = (exchange_params_t){ 0 };
}

void lookup_keep(lookup_t *lookup, exchange_t *take_exchange, const exchange_params_t *params)
{
	const char **text;
	bool is_good = true;
	lookup_drop_kept(lookup);
	lookup->kept = take_exchange;
	lookup->kept_params = *params;
	for (unsigned i = 0; (text = keep_text_at(&lookup->kept_params, i)) != NULL; i++) {
		const char *borrowed = *text;
		*text = borrowed != NULL ? strdup(borrowed) : NULL;
		is_good &= (*text != NULL) == (borrowed != NULL);
	}
	if (!is_good) { /* memory is short */
		lookup_drop_kept(lookup);
	}
}

static bool keep_same_text(const char *a, const char *b)
{
	return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static bool keep_same_address(const exchange_address_t *a, const exchange_address_t *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

bool lookup_may_share(const exchange_params_t *a, const exchange_params_t *b)
{
	return a->kind == b->kind && keep_same_address(&a->server, &b->server) &&
	       keep_same_address(&a->local, &b->local) && a->trust == b->trust &&
	       keep_same_text(a->hostname, b->hostname) && keep_same_text(a->sni, b->sni) &&
	       keep_same_address(&a->proxy_source, &b->proxy_source) &&
	       keep_same_address(&a->proxy_destination, &b->proxy_destination) &&
	       a->http.uses_get == b->http.uses_get && keep_same_text(a->http.authority, b->http.authority) &&
	       keep_same_text(a->http.path, b->http.path);
}
