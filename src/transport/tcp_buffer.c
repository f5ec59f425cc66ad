/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/transport/tcp_buffer.h"

#include <assert.h>
#include <stdlib.h>

enum { HEAD_LEN = 2 };

tcp_frame_t tcp_frame_next(knot_bytes_t bytes, size_t *pos, knot_bytes_t *ret_message)
{
	size_t left = bytes.len - *pos;
	if (left < HEAD_LEN) {
		return TCP_FRAME_PART;
	}
	size_t len = load_be16(bytes.data + *pos);
	if (left - HEAD_LEN < len) {
		return TCP_FRAME_PART;
	}
	*ret_message = (knot_bytes_t){ bytes.data + *pos + HEAD_LEN, len };
	*pos += HEAD_LEN + len;
	return TCP_FRAME_WHOLE;
}

size_t tcp_frame_missing(knot_bytes_t bytes)
{
	if (bytes.len < HEAD_LEN) {
		return HEAD_LEN - bytes.len;
	}
	size_t whole = HEAD_LEN + (size_t)load_be16(bytes.data);
	assert(whole > bytes.len);
	return whole - bytes.len;
}

knot_err_t tcp_rest_append(tcp_rest_t *rest, knot_bytes_t bytes)
{
	if (bytes.len == 0) {
		return KNOT_OK;
	}
	size_t need = rest->len + bytes.len;
	if (need > rest->max) {
		size_t max = rest->max > 0 ? rest->max : 128;
		while (max < need) {
			max *= 2;
		}
		uint8_t *data = realloc(rest->data, max);
		if (data == NULL) {
			return KNOT_ENOMEM;
		}
		rest->data = data;
		rest->max = max;
	}
	memcpy(rest->data + rest->len, bytes.data, bytes.len);
	rest->len = need;
	return KNOT_OK;
}

void tcp_rest_drop(tcp_rest_t *rest, size_t len)
{
	assert(len <= rest->len);
	rest->len -= len;
	if (rest->len == 0) {
		tcp_rest_done(rest);
	} else if (len > 0) {
		memmove(rest->data, rest->data + len, rest->len);
	}
}

void tcp_rest_done(tcp_rest_t *rest)
{
	free(rest->data);
	*rest = (tcp_rest_t){ 0 };
}

size_t tcp_progress(tcp_progress_t *progress, knot_bytes_t sent)
{
	size_t ended = 0;
	for (size_t pos = 0; pos < sent.len;) {
		if (progress->head_len < HEAD_LEN) {
			progress->head[progress->head_len++] = sent.data[pos++];
			if (progress->head_len < HEAD_LEN) {
				continue;
			}
			progress->body_left = load_be16(progress->head);
		} else {
			size_t part = sent.len - pos < progress->body_left ? sent.len - pos : progress->body_left;
			progress->body_left -= (uint32_t)part;
			pos += part;
		}
		if (progress->body_left == 0) {
			progress->head_len = 0;
			ended++;
		}
	}
	return ended;
}
