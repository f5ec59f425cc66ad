/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/tools/lookup/trust.h"

#include "libknot/base/encode.h"
#include "src/tools/lookup/keep.h"

void lookup_note(void *context, transport_note_level_t level, const char *text)
{
	lookup_t *lookup = context;
	if (level == TRANSPORT_NOTE_WARNING) {
		lookup_warn(lookup, "%s", text);
	} else if (level == TRANSPORT_NOTE_DEBUG || lookup->debug > 1) {
		lookup_debug(lookup, "%s", text);
	}
}

void lookup_forget_trust(lookup_t *lookup)
{
	lookup_drop_kept(lookup); /* it may use it */
	transport_trust_free(lookup->trust);
	lookup->trust = NULL;
	lookup->trust_params = NULL;
}

/* Queries in a row mostly have the same, so files are read once. */
bool lookup_trust(lookup_t *lookup, const lookup_query_t *query)
{
	if (query->tls == lookup->trust_params && (query->tls == NULL || lookup->trust != NULL)) {
		return true;
	}
	lookup_forget_trust(lookup);
	lookup->trust_params = query->tls;
	if (query->tls == NULL) {
		return true;
	}
	transport_trust_params_t params = *query->tls;
	params.uses_system_ca |= query->hostname != NULL && params.ca_file_count == 0;
	params.is_strict = params.uses_system_ca || params.ca_file_count > 0;
	return transport_trust_new(&params, lookup_note, lookup, &lookup->trust) == KNOT_OK;
}

const char *lookup_hostname(const lookup_query_t *query, const lookup_host_t *host)
{
	static char name[256];
	bool is_named = query->hostname == NULL && query->tls != NULL &&
			(query->tls->uses_system_ca || query->tls->ca_file_count > 0) &&
			host->host_len < sizeof(name) && host->host_len > 0 && host->host[0] != '/';
	if (!is_named) {
		return query->hostname;
	}
	memcpy(name, host->host, host->host_len);
	name[host->host_len] = '\0';
	return name;
}

bool lookup_scan_pin(const char *text, uint8_t ret_pin[static TRANSPORT_PIN_LEN])
{
	knot_base64_state_t state = { 0 };
	uint8_t pin[TRANSPORT_PIN_LEN + 3];
	size_t len;
	if (knot_base64_add(&state, knot_str_of(text), (knot_mut_bytes_t){ pin, sizeof(pin) }, &len) !=
					KNOT_DECODE_OK ||
			state.digit_count != 0 || len != TRANSPORT_PIN_LEN) {
		return false;
	}
	memcpy(ret_pin, pin, TRANSPORT_PIN_LEN);
	return true;
}

bool lookup_done(lookup_t *lookup)
{
	lookup_flush(lookup);
	lookup_end_progress(lookup);
	lookup_forget_trust(lookup);
	present_text_done(&lookup->out);
	return !lookup->has_failed_output;
}
