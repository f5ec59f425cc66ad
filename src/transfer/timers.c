/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/transfer/timers.h"

#include "libknot/base/siphash.h"
#include "libknot/rr/rdata.h"

#include <stdio.h>

enum {
	BOOTSTRAP_FACTOR = 5, /* seconds */
	BOOTSTRAP_MAX = 7200, /* seconds, without the random part */
	BOOTSTRAP_RANDOM_MAX = 30,
	BOOTSTRAP_FAILURES_MAX = UINT8_MAX, /* more make no difference */
};

timers_soa_t timers_soa_of(knot_bytes_t soa)
{
	const uint8_t *numbers = soa.data + knot_soa_serial_off(soa.len);
	return (timers_soa_t){ load_be32(numbers + 4), load_be32(numbers + 8), load_be32(numbers + 12) };
}

static timers_interval_t timers_clamp(uint32_t seconds, uint32_t min, uint32_t max)
{
	if (seconds < min) {
		return (timers_interval_t){ min, TIMERS_TO_MIN };
	}
	return seconds > max ? (timers_interval_t){ max, TIMERS_TO_MAX } : (timers_interval_t){ seconds, TIMERS_AS_IS };
}

timers_interval_t timers_refresh(const timers_soa_t *soa, const timers_conf_t *conf, knot_name_t zone)
{
	timers_interval_t interval = timers_clamp(soa->refresh_s, conf->refresh_min_s, conf->refresh_max_s);
	uint64_t range = conf->is_jitter_percent ? (uint64_t)interval.seconds * conf->jitter / 100 : conf->jitter;
	uint64_t part = knot_siphash24(0, 0, (knot_bytes_t){ zone.wire, zone.len }) & 0xffff;
	/* Longer than any interval, and short enough not to overflow. */
	range = range < UINT64_C(1) << 40 ? range : UINT64_C(1) << 40;
	uint64_t jitter = (1 + range) * part >> 16, most = interval.seconds > 0 ? interval.seconds - 1 : 0;
	interval.seconds -= (uint32_t)(jitter < most ? jitter : most);
	return interval;
}

timers_interval_t timers_retry(const timers_soa_t *soa, const timers_conf_t *conf)
{
	return timers_clamp(soa->retry_s, conf->retry_min_s, conf->retry_max_s);
}

timers_interval_t timers_bootstrap(const timers_conf_t *conf, unsigned failures, uint32_t random)
{
	unsigned count = failures < BOOTSTRAP_FAILURES_MAX ? failures : BOOTSTRAP_FAILURES_MAX;
	uint32_t base = BOOTSTRAP_FACTOR * count * count, range = BOOTSTRAP_FACTOR * (count + 2);
	base = base < BOOTSTRAP_MAX ? base : BOOTSTRAP_MAX;
	range = range < BOOTSTRAP_RANDOM_MAX ? range : BOOTSTRAP_RANDOM_MAX;
	return timers_clamp(base + random % range, conf->retry_min_s, conf->retry_max_s);
}

timers_interval_t timers_expire(
		const timers_soa_t *soa, const timers_conf_t *conf, timers_option_t option, uint64_t left_s)
{
	uint64_t seconds = soa->expire_s;
	if (option.is_said) {
		uint64_t said = option.seconds > left_s ? option.seconds : left_s;
		seconds = said < seconds ? said : seconds;
	}
	/* A value that a primary lowered isn't raised. */
	uint32_t min = seconds == soa->expire_s ? conf->expire_min_s : 0;
	return timers_clamp((uint32_t)seconds, min, conf->expire_max_s);
}

bool timers_print_trim(const char *what, timers_trim_t trim, char ret_text[static TIMERS_TRIM_TEXT_MAX])
{
	if (trim == TIMERS_AS_IS) {
		return false;
	}
	snprintf(ret_text, TIMERS_TRIM_TEXT_MAX, "%s timer trimmed to '%s-%s-interval'", what, what,
			trim == TIMERS_TO_MIN ? "min" : "max");
	return true;
}

void timers_state_put(const timers_state_t *state, timer_values_t *values)
{
	values->at[TIMER_NEXT_REFRESH] = state->next_refresh_s;
	values->at[TIMER_NEXT_EXPIRE] = state->next_expire_s;
	values->at[TIMER_MASTER_PIN_HIT] = state->pin_hit_s;
	values->at[TIMER_LAST_REFRESH_OK] = state->is_last_ok;
	memset(values->last_master, 0, TIMER_MASTER_LEN);
	if (state->has_last_primary) {
		memcpy(values->last_master, state->last_primary, TIMER_MASTER_LEN);
	}
}

timers_state_t timers_state_of(const timer_values_t *values)
{
	static const uint8_t none[TIMER_MASTER_LEN];
	timers_state_t state = { .next_refresh_s = values->at[TIMER_NEXT_REFRESH],
		.next_expire_s = values->at[TIMER_NEXT_EXPIRE],
		.pin_hit_s = values->at[TIMER_MASTER_PIN_HIT],
		.is_last_ok = values->at[TIMER_LAST_REFRESH_OK] != 0,
		.has_last_primary = memcmp(values->last_master, none, TIMER_MASTER_LEN) != 0 };
	memcpy(state.last_primary, values->last_master, TIMER_MASTER_LEN);
	return state;
}

void timers_expired(timers_state_t *state, uint64_t now_s)
{
	*state = (timers_state_t){ .next_refresh_s = now_s };
}

bool timers_start(timers_state_t *state, uint64_t now_s)
{
	if (state->next_expire_s == 0 || state->next_expire_s > now_s) {
		return false;
	}
	timers_expired(state, now_s);
	return true;
}

void timers_loaded(timers_state_t *state, bool has_contents, uint64_t now_s)
{
	state->bootstrap_failures = 0;
	if (state->next_refresh_s == 0 || (!has_contents && state->is_last_ok)) {
		state->next_refresh_s = now_s;
	}
}
