/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/conf/value.h"
#include "libknot/base/assert.h"
#include "libknot/base/encode.h"
#include "libknot/rr/rrtype.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <strings.h>

/** Longest text of anything but free text: an address with a device and a port, a number, a name of an option. */
enum { WORD_MAX = 127, UNIT_COUNT = 7 };

static const struct {
	char letter;
	int64_t factor;
} units[][UNIT_COUNT + 1] = {
	[CONF_UNIT_NONE] = { { 0, 0 } },
	[CONF_UNIT_TIME] = { { 's', 1 }, { 'm', 60 }, { 'h', 3600 }, { 'd', 86400 }, { 'w', 7 * 86400 },
			{ 'M', 30 * 86400 }, { 'y', 365 * 86400 }, { 0, 0 } },
	[CONF_UNIT_SIZE] = { { 'B', 1 }, { 'K', 1 << 10 }, { 'M', 1 << 20 }, { 'G', 1 << 30 }, { 0, 0 } },
};

/** NUL-terminated copy of a short text; false if it isn't short or holds a NUL. */
static bool copy_word(knot_str_t text, char ret_word[static WORD_MAX + 1])
{
	if (text.len > WORD_MAX || memchr(text.data, '\0', text.len) != NULL) {
		return false;
	}
	memcpy(ret_word, text.data, text.len);
	ret_word[text.len] = '\0';
	return true;
}

static int64_t unit_factor(conf_measure_t unit, char letter)
{
	assert(unit < KNOT_LEN(units));
	for (size_t i = 0; units[unit][i].letter != 0; i++) {
		if (units[unit][i].letter == letter) {
			return units[unit][i].factor;
		}
	}
	return 0;
}

/** Number, one optional character of unit; spaces and a sign may stand before the number. */
static knot_err_t scan_int(const conf_row_t *row, knot_str_t text, int64_t *ret_int)
{
	char word[WORD_MAX + 1];
	char *end;
	if (text.len == 0 || !copy_word(text, word)) {
		return KNOT_EINVAL;
	}
	errno = 0;
	long long number = strtoll(word, &end, 10);
	if (end == word) {
		return KNOT_EINVAL;
	}
	if (errno == ERANGE) {
		return KNOT_CONF_ERANGE;
	}
	int64_t result = number;
	if (end[0] == '%' && end[1] == '\0' && row->percent) {
		if (number < 0 || number > 100) {
			return KNOT_CONF_ERANGE;
		}
		*ret_int = number | CONF_PERCENT;
		return KNOT_OK;
	}
	if (end[0] != '\0') {
		int64_t factor = end[1] == '\0' ? unit_factor(row->unit, end[0]) : 0;
		if (factor == 0) {
			return KNOT_EINVAL;
		}
		if (__builtin_mul_overflow(number, factor, &result)) {
			return KNOT_CONF_ERANGE;
		}
	}
	if (result < row->min || result > row->max || (row->not_zero && result == 0)) {
		return KNOT_CONF_ERANGE;
	}
	*ret_int = result;
	return KNOT_OK;
}

static void put_int(int64_t number, uint8_t *ret_value, size_t *ret_len)
{
	memcpy(ret_value, &number, sizeof(number));
	*ret_len = sizeof(number);
}

/** Any prefix of the four words will do, the empty one too: `item:` without a value is on. */
static knot_err_t scan_bool(knot_str_t text, uint8_t *ret_value)
{
	static const struct {
		const char *word;
		bool value;
	} words[] = { { "on", true }, { "true", true }, { "off", false }, { "false", false } };
	for (size_t i = 0; i < KNOT_LEN(words); i++) {
		if (text.len <= strlen(words[i].word) && strncasecmp(text.data, words[i].word, text.len) == 0) {
			*ret_value = words[i].value;
			return KNOT_OK;
		}
	}
	return KNOT_EINVAL;
}

static const conf_option_t *find_option(const conf_option_t *options, knot_str_t text)
{
	for (; options->name != NULL; options++) {
		if (strlen(options->name) == text.len && strncasecmp(options->name, text.data, text.len) == 0) {
			return options;
		}
	}
	return NULL;
}

static knot_err_t scan_hex(knot_str_t text, uint8_t *ret_value, size_t *ret_len)
{
	if (text.len < 2 || text.data[0] != '0' || text.data[1] != 'x') {
		memcpy(ret_value, text.data, text.len);
		*ret_len = text.len;
		return KNOT_OK;
	}
	knot_str_t digits = { text.data + 2, text.len - 2 };
	return knot_hex_scan(digits, ret_value, ret_len) ? KNOT_OK : KNOT_EINVAL;
}

/**
 * True if a file could have the text as a value: no control characters, and behind each backslash printable ASCII but
 * no quote, since `\\"` in a file is a quote. Anything else, from a control connection, could be kept but not be
 * exported.
 */
static bool is_writable(knot_str_t text)
{
	for (size_t i = 0; i < text.len; i++) {
		unsigned char c = (unsigned char)text.data[i];
		if (c < ' ' || c == 0x7f) {
			return false;
		}
		if (c != '\\') {
			continue;
		}
		i++;
		if (i == text.len || text.data[i] < ' ' || text.data[i] > '~' || text.data[i] == '"') {
			return false;
		}
	}
	return true;
}

/** RFC 4648 4, with padding, nothing in between. */
static knot_err_t scan_base64(knot_str_t text, uint8_t *ret_value, size_t *ret_len)
{
	knot_base64_state_t state = { 0 };
	if (text.len % 4 != 0) {
		return KNOT_EB64LEN;
	}
	knot_mut_bytes_t room = { ret_value, text.len / 4 * 3 };
	return knot_base64_add(&state, text, room, ret_len) == KNOT_DECODE_OK ? KNOT_OK : KNOT_EB64CHAR;
}

static knot_err_t scan_name(knot_str_t text, uint8_t *ret_value, size_t *ret_len)
{
	static const uint8_t at_sign[] = { 1, '@', 0 };
	uint8_t wire[KNOT_NAME_MAX];
	knot_name_t name = { .wire = at_sign, .len = sizeof(at_sign), .label_count = 1 };
	/* "@" is the origin in a zone file, but an ordinary label here. */
	if (!knot_str_eq(text, KNOT_STR("@")) && knot_name_scan(text, knot_name_root, wire, &name) != KNOT_OK) {
		return KNOT_EINVAL;
	}
	knot_name_lower(name, ret_value);
	*ret_len = name.len;
	return KNOT_OK;
}

/* ---- Addresses ---- */

/** What a text looks like decides what it must be: a mistyped address of unusual shape is a UNIX path. */
static conf_addr_kind_t guess_addr(knot_str_t text)
{
	size_t colons = 0, dots = 0, digits = 0;
	for (size_t i = 0; i < text.len && text.data[i] != '@' && text.data[i] != '%'; i++) {
		colons += text.data[i] == ':';
		dots += text.data[i] == '.';
		digits += text.data[i] >= '0' && text.data[i] <= '9';
	}
	if (memchr(text.data, '/', text.len) != NULL) {
		return CONF_ADDR_UNIX;
	}
	if (colons >= 2) {
		return CONF_ADDR_IPV6;
	}
	return colons == 0 && dots == 3 && digits >= 3 ? CONF_ADDR_IPV4 : CONF_ADDR_UNIX;
}

static size_t ip_len(conf_addr_kind_t kind)
{
	assert(kind == CONF_ADDR_IPV4 || kind == CONF_ADDR_IPV6);
	return kind == CONF_ADDR_IPV4 ? sizeof(struct in_addr) : sizeof(struct in6_addr);
}

static bool scan_ip(conf_addr_kind_t kind, const char *word, uint8_t *ret_ip)
{
	return inet_pton(kind == CONF_ADDR_IPV4 ? AF_INET : AF_INET6, word, ret_ip) == 1;
}

/** A device goes with a wildcard address, or as the scope of a link-local one (RFC 4007 11). */
static bool may_have_device(conf_addr_kind_t kind, const uint8_t *ip)
{
	static const uint8_t wildcard[16];
	return memcmp(ip, wildcard, ip_len(kind)) == 0 ||
	       (kind == CONF_ADDR_IPV6 && ip[0] == 0xfe && (ip[1] & 0xc0) == 0x80);
}

static knot_err_t scan_addr(knot_str_t text, uint8_t *ret_value, size_t *ret_len)
{
	conf_addr_kind_t kind = guess_addr(text);
	ret_value[0] = (uint8_t)kind;
	if (!is_writable(text)) {
		return KNOT_EINVAL;
	}
	if (kind == CONF_ADDR_UNIX) {
		/* One byte for the kind: the path has one less than other texts. */
		if (text.len > CONF_VALUE_MAX - 2) {
			return KNOT_EINVAL;
		}
		memcpy(ret_value + 1, text.data, text.len);
		ret_value[1 + text.len] = '\0';
		*ret_len = text.len + 2;
		return KNOT_OK;
	}
	char word[WORD_MAX + 1];
	if (!copy_word(text, word)) {
		return KNOT_EINVAL;
	}
	static const conf_row_t port_row = { .type = CONF_INT, .min = 0, .max = UINT16_MAX };
	int64_t port = CONF_NO_PORT;
	char *at = strrchr(word, '@');
	if (at != NULL) {
		knot_err_t err = scan_int(&port_row, knot_str_of(at + 1), &port);
		if (err != KNOT_OK) {
			return err;
		}
		*at = '\0';
	}
	const char *device = "";
	char *percent = strchr(word, '%');
	if (percent != NULL) {
		*percent = '\0';
		device = percent + 1;
	}
	if (!scan_ip(kind, word, ret_value + 1)) {
		return KNOT_EINVAL;
	}
	if (percent != NULL &&
			(device[0] == '\0' || strlen(device) >= IF_NAMESIZE || !may_have_device(kind, ret_value + 1))) {
		return KNOT_EINVAL;
	}
	int32_t port32 = (int32_t)port;
	size_t len = 1 + ip_len(kind);
	memcpy(ret_value + len, &port32, sizeof(port32));
	len += sizeof(port32);
	memcpy(ret_value + len, device, strlen(device) + 1);
	*ret_len = len + strlen(device) + 1;
	return KNOT_OK;
}

typedef enum { NET_ONE, NET_PREFIX, NET_RANGE } net_format_t;

static knot_err_t scan_net(knot_str_t text, uint8_t *ret_value, size_t *ret_len)
{
	if (text.len > 0 && text.data[0] == '/') {
		return scan_addr(text, ret_value, ret_len);
	}
	char word[WORD_MAX + 1];
	if (!copy_word(text, word)) {
		return KNOT_EINVAL;
	}
	net_format_t format = NET_ONE;
	char *rest = strpbrk(word, "/-");
	if (rest != NULL) {
		format = *rest == '/' ? NET_PREFIX : NET_RANGE;
		*rest++ = '\0';
	}
	conf_addr_kind_t kind = strchr(word, ':') != NULL ? CONF_ADDR_IPV6 : CONF_ADDR_IPV4;
	ret_value[0] = (uint8_t)kind;
	if (!scan_ip(kind, word, ret_value + 1)) {
		return KNOT_EINVAL;
	}
	size_t len = 1 + ip_len(kind);
	ret_value[len++] = (uint8_t)format;
	if (format == NET_PREFIX) {
		const conf_row_t row = { .type = CONF_INT, .min = 0, .max = kind == CONF_ADDR_IPV4 ? 32 : 128 };
		int64_t prefix;
		knot_err_t err = scan_int(&row, knot_str_of(rest), &prefix);
		if (err != KNOT_OK) {
			return err;
		}
		ret_value[len++] = (uint8_t)prefix;
	} else if (format == NET_RANGE) {
		if (!scan_ip(kind, rest, ret_value + len)) {
			return KNOT_EINVAL;
		}
		len += ip_len(kind);
	}
	*ret_len = len;
	return KNOT_OK;
}

/** Binary form: two strings. The empty text is allowed and refers to nothing. */
static knot_err_t scan_modref(knot_str_t text, uint8_t *ret_value, size_t *ret_len)
{
	if (text.len > CONF_VALUE_MAX - 2 || !is_writable(text)) {
		return KNOT_EINVAL;
	}
	const char *slash = memchr(text.data, '/', text.len);
	size_t name_len = slash != NULL ? (size_t)(slash - text.data) : text.len;
	if (slash != NULL && name_len + 1 == text.len) {
		return KNOT_EINVAL;
	}
	size_t id_len = slash != NULL ? text.len - name_len - 1 : 0;
	memcpy(ret_value, text.data, name_len);
	ret_value[name_len] = '\0';
	memcpy(ret_value + name_len + 1, text.data + text.len - id_len, id_len);
	ret_value[name_len + 1 + id_len] = '\0';
	*ret_len = name_len + id_len + 2;
	return KNOT_OK;
}

static knot_err_t scan_rrtype(knot_str_t text, uint8_t *ret_value, size_t *ret_len)
{
	uint16_t type;
	if (knot_rrtype_scan(text, &type) != KNOT_OK) {
		return KNOT_EINVAL;
	}
	memcpy(ret_value, &type, sizeof(type));
	*ret_len = sizeof(type);
	return KNOT_OK;
}

static knot_err_t scan_str(knot_str_t text, uint8_t *ret_value, size_t *ret_len)
{
	if (text.len > CONF_VALUE_MAX - 1) {
		return KNOT_ESPACE;
	}
	if (!is_writable(text)) {
		return KNOT_EINVAL;
	}
	memcpy(ret_value, text.data, text.len);
	ret_value[text.len] = '\0';
	*ret_len = text.len + 1;
	return KNOT_OK;
}

/** A reference has the form of the identifier that it names. Sections that share a reference have STR identifiers. */
static const conf_row_t *referred_row(const conf_row_t *row)
{
	size_t section = conf_section_find(knot_str_of(row->ref[0]));
	assert(section < conf_section_count && conf_sections[section]->kind == CONF_MULTI);
	return conf_id_row(conf_sections[section]);
}

static knot_err_t value_scan_row(const conf_row_t *row, knot_str_t text, uint8_t *ret_value, size_t *ret_len)
{
	int64_t number;
	knot_err_t err;
	const conf_option_t *option;
	switch (row->type) {
	case CONF_OPTINT:
		option = find_option(row->options, text);
		if (text.len == 0 || (text.data[0] != '-' && (text.data[0] < '0' || text.data[0] > '9'))) {
			if (option == NULL) {
				return KNOT_EINVAL;
			}
			put_int(option->id, ret_value, ret_len);
			return KNOT_OK;
		}
		/* fallthrough: an integer */
		__attribute__((fallthrough));
	case CONF_INT:
		err = scan_int(row, text, &number);
		if (err == KNOT_OK) {
			put_int(number, ret_value, ret_len);
		}
		return err;
	case CONF_BOOL: *ret_len = 1; return scan_bool(text, ret_value);
	case CONF_OPT:
		option = find_option(row->options, text);
		ret_value[0] = (uint8_t)(option != NULL ? option->id : 0);
		*ret_len = 1;
		return option != NULL ? KNOT_OK : KNOT_EINVAL;
	case CONF_STR: return scan_str(text, ret_value, ret_len);
	case CONF_HEX: return scan_hex(text, ret_value, ret_len);
	case CONF_B64: return scan_base64(text, ret_value, ret_len);
	case CONF_DNAME: return scan_name(text, ret_value, ret_len);
	case CONF_ADDR: return scan_addr(text, ret_value, ret_len);
	case CONF_NET: return scan_net(text, ret_value, ret_len);
	case CONF_REF:
		if (text.len == 0 && row->or_empty) {
			return scan_str(text, ret_value, ret_len);
		}
		return value_scan_row(referred_row(row), text, ret_value, ret_len);
	case CONF_MODREF: return scan_modref(text, ret_value, ret_len);
	case CONF_RRTYPE: return scan_rrtype(text, ret_value, ret_len);
	}
	return KNOT_EINVAL;
}

/* ---- Binary forms ---- */

static bool ends_with_nul(knot_bytes_t value, size_t from)
{
	return value.len > from && memchr(value.data + from, '\0', value.len - from) == value.data + value.len - 1;
}

static bool is_addr(knot_bytes_t value)
{
	if (value.len == 0) {
		return false;
	}
	size_t text = 1;
	if (value.data[0] != CONF_ADDR_UNIX) {
		if (value.data[0] != CONF_ADDR_IPV4 && value.data[0] != CONF_ADDR_IPV6) {
			return false;
		}
		text += ip_len((conf_addr_kind_t)value.data[0]) + sizeof(int32_t);
	}
	return ends_with_nul(value, text);
}

static bool is_net(knot_bytes_t value)
{
	if (value.len == 0 || value.data[0] == CONF_ADDR_UNIX) {
		return is_addr(value);
	}
	if (value.data[0] != CONF_ADDR_IPV4 && value.data[0] != CONF_ADDR_IPV6) {
		return false;
	}
	size_t address = ip_len((conf_addr_kind_t)value.data[0]), head = 1 + address + 1;
	uint8_t format = value.len >= head ? value.data[head - 1] : UINT8_MAX;
	return (format == NET_ONE && value.len == head) || (format == NET_PREFIX && value.len == head + 1) ||
	       (format == NET_RANGE && value.len == head + address);
}

static bool is_modref(knot_bytes_t value)
{
	const uint8_t *end = value.len > 0 ? memchr(value.data, '\0', value.len) : NULL;
	return end != NULL && ends_with_nul(value, (size_t)(end - value.data) + 1);
}

/** True if the bytes have the form that value.h gives the row's type. */
static bool value_is_sound(const conf_row_t *row, knot_bytes_t value)
{
	knot_name_t name;
	switch (row->type) {
	case CONF_INT:
	case CONF_OPTINT: return value.len == sizeof(int64_t);
	case CONF_BOOL:
	case CONF_OPT: return value.len == 1;
	case CONF_STR: return ends_with_nul(value, 0);
	case CONF_HEX:
	case CONF_B64: return true;
	case CONF_DNAME: return knot_name_read(value, &name) == KNOT_OK && name.len == value.len;
	case CONF_ADDR: return is_addr(value);
	case CONF_NET: return is_net(value);
	case CONF_REF:
		return (row->or_empty && value.len == 1 && value.data[0] == '\0') ||
		       value_is_sound(referred_row(row), value);
	case CONF_MODREF: return is_modref(value);
	case CONF_RRTYPE: return value.len == sizeof(uint16_t);
	}
	return false;
}

knot_err_t conf_value_scan(const conf_row_t *row, knot_str_t text, uint8_t *ret_value, size_t *ret_len)
{
	if (text.len == 0) {
		text.data = ""; /* may be NULL, which memcpy() must not get */
	}
	if (text.len >= CONF_VALUE_MAX) {
		return KNOT_CONF_ERANGE;
	}
	knot_err_t err = value_scan_row(row, text, ret_value, ret_len);
	assert(err != KNOT_OK || *ret_len <= CONF_VALUE_MAX);
	KNOT_ASSERT_SLOW(err != KNOT_OK || value_is_sound(row, (knot_bytes_t){ ret_value, *ret_len }));
	return err;
}

int64_t conf_value_int(knot_bytes_t value)
{
	assert(value.len == sizeof(int64_t));
	int64_t number;
	memcpy(&number, value.data, sizeof(number));
	return number;
}

conf_addr_view_t conf_value_addr(knot_bytes_t value)
{
	assert(value.len > 0);
	KNOT_ASSERT_SLOW(is_addr(value));
	conf_addr_view_t view = { .kind = (conf_addr_kind_t)value.data[0], .port = CONF_NO_PORT, .device = "" };
	if (view.kind == CONF_ADDR_UNIX) {
		view.path = (const char *)value.data + 1;
		return view;
	}
	view.ip = value.data + 1;
	const uint8_t *port = view.ip + ip_len(view.kind);
	memcpy(&view.port, port, sizeof(view.port));
	view.device = (const char *)port + sizeof(view.port);
	return view;
}

/** Set the bits of an address from `bit` on. */
static void set_bits_from(uint8_t *ip, size_t len, size_t bit, bool value)
{
	for (size_t i = bit; i < len * 8; i++) {
		uint8_t mask = (uint8_t)(0x80 >> i % 8);
		ip[i / 8] = (uint8_t)(value ? ip[i / 8] | mask : ip[i / 8] & ~mask);
	}
}

conf_net_t conf_value_net(knot_bytes_t value)
{
	KNOT_ASSERT_SLOW(is_net(value));
	conf_addr_kind_t kind = (conf_addr_kind_t)value.data[0];
	if (kind == CONF_ADDR_UNIX) {
		return (conf_net_t){ .family = AF_UNIX };
	}
	conf_net_t net = { .family = kind == CONF_ADDR_IPV4 ? AF_INET : AF_INET6 };
	size_t len = ip_len(kind);
	const uint8_t *format = value.data + 1 + len;
	memcpy(net.first, value.data + 1, len);
	memcpy(net.last, *format == NET_RANGE ? format + 1 : value.data + 1, len);
	if (*format == NET_PREFIX) {
		set_bits_from(net.first, len, format[1], false);
		set_bits_from(net.last, len, format[1], true);
	}
	return net;
}

/* ---- Printing ---- */

/** Text that is cut at the end of its room but counted whole. */
typedef struct {
	char *text;
	size_t max;
	size_t len;
} out_t;

static void value_put_text(out_t *out, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++, out->len++) {
		if (out->len + 1 < out->max) {
			out->text[out->len] = text[i];
		}
	}
}

static void put_str(out_t *out, const char *text)
{
	value_put_text(out, text, strlen(text));
}

static void value_put_number(out_t *out, int64_t number)
{
	char digits[24];
	value_put_text(out, digits, (size_t)snprintf(digits, sizeof(digits), "%lld", (long long)number));
}

static void put_ip(out_t *out, conf_addr_kind_t kind, const uint8_t *ip)
{
	char text[INET6_ADDRSTRLEN];
	(void)inet_ntop(kind == CONF_ADDR_IPV4 ? AF_INET : AF_INET6, ip, text, sizeof(text));
	put_str(out, text);
}

static void print_int(out_t *out, int64_t number)
{
	bool is_percent = number > 0 && (number & CONF_PERCENT) != 0;
	value_put_number(out, is_percent ? number & ~CONF_PERCENT : number);
	if (is_percent) {
		put_str(out, "%");
	}
}

static void print_option(out_t *out, const conf_option_t *options, int64_t id)
{
	while (options->name != NULL && options->id != id) {
		options++;
	}
	if (options->name != NULL) {
		put_str(out, options->name);
	} else {
		value_put_number(out, id);
	}
}

static void print_hex(out_t *out, knot_bytes_t value)
{
	/* Text that looks like digits would be read as such. */
	bool is_text = value.len < 2 || value.data[0] != '0' || value.data[1] != 'x';
	for (size_t i = 0; i < value.len; i++) {
		is_text = is_text && value.data[i] >= ' ' && value.data[i] <= '~';
	}
	if (is_text) {
		value_put_text(out, (const char *)value.data, value.len);
		return;
	}
	put_str(out, "0x");
	for (size_t i = 0; i < value.len; i++) {
		char byte[KNOT_HEX_LEN(1)];
		value_put_text(out, byte, knot_hex_print((knot_bytes_t){ value.data + i, 1 }, KNOT_HEX_UPPER, byte));
	}
}

static void print_base64(out_t *out, knot_bytes_t value)
{
	for (size_t i = 0; i < value.len; i += 3) { /* a group at a time: groups are independent */
		size_t len = value.len - i < 3 ? value.len - i : 3;
		char group[KNOT_BASE64_LEN(1)];
		value_put_text(out, group, knot_base64_print((knot_bytes_t){ value.data + i, len }, group));
	}
}

static void print_addr(out_t *out, knot_bytes_t value)
{
	conf_addr_view_t addr = conf_value_addr(value);
	if (addr.kind == CONF_ADDR_UNIX) {
		put_str(out, addr.path);
		return;
	}
	put_ip(out, addr.kind, addr.ip);
	if (addr.device[0] != '\0') {
		put_str(out, "%");
		put_str(out, addr.device);
	}
	if (addr.port != CONF_NO_PORT) {
		put_str(out, "@");
		value_put_number(out, addr.port);
	}
}

static void print_net(out_t *out, knot_bytes_t value)
{
	conf_addr_kind_t kind = (conf_addr_kind_t)value.data[0];
	if (kind == CONF_ADDR_UNIX) {
		print_addr(out, value);
		return;
	}
	const uint8_t *format = value.data + 1 + ip_len(kind);
	put_ip(out, kind, value.data + 1);
	if (*format == NET_PREFIX) {
		put_str(out, "/");
		value_put_number(out, format[1]);
	} else if (*format == NET_RANGE) {
		put_str(out, "-");
		put_ip(out, kind, format + 1);
	}
}

static void print_modref(out_t *out, knot_bytes_t value)
{
	const char *name = (const char *)value.data, *id = name + strlen(name) + 1;
	put_str(out, name);
	if (id[0] != '\0') {
		put_str(out, "/");
		put_str(out, id);
	}
}

static void value_print_name(out_t *out, knot_bytes_t value)
{
	char text[KNOT_NAME_TEXT_MAX];
	value_put_text(out, text, knot_name_print(knot_name_of(value.data), text));
}

static void print_rrtype(out_t *out, knot_bytes_t value)
{
	uint16_t type;
	char text[KNOT_TYPE_TEXT_MAX];
	memcpy(&type, value.data, sizeof(type));
	value_put_text(out, text, knot_rrtype_print(type, text));
}

static void value_print_row(const conf_row_t *row, knot_bytes_t value, out_t *out)
{
	switch (row->type) {
	case CONF_INT: print_int(out, conf_value_int(value)); break;
	case CONF_OPTINT: print_option(out, row->options, conf_value_int(value)); break;
	case CONF_BOOL: put_str(out, value.data[0] != 0 ? "on" : "off"); break;
	case CONF_OPT: print_option(out, row->options, value.data[0]); break;
	case CONF_STR: put_str(out, (const char *)value.data); break;
	case CONF_HEX: print_hex(out, value); break;
	case CONF_B64: print_base64(out, value); break;
	case CONF_DNAME: value_print_name(out, value); break;
	case CONF_ADDR: print_addr(out, value); break;
	case CONF_NET: print_net(out, value); break;
	case CONF_REF:
		if (value.data[0] != '\0' || !row->or_empty) {
			value_print_row(referred_row(row), value, out);
		}
		break;
	case CONF_MODREF: print_modref(out, value); break;
	case CONF_RRTYPE: print_rrtype(out, value); break;
	}
}

size_t conf_value_print(const conf_row_t *row, knot_bytes_t value, char *ret_text, size_t max)
{
	KNOT_ASSERT_SLOW(value_is_sound(row, value));
	out_t out = { .text = ret_text, .max = max };
	value_print_row(row, value, &out);
	if (max > 0) {
		ret_text[out.len < max ? out.len : max - 1] = '\0';
	}
	return out.len;
}
