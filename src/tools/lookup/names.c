/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Internationalized names (IDNA 2008). Names in ASCII, nearly all, need neither the library nor a locale; both are
 * looked at when the first other name comes.
 */
#include "src/tools/lookup/lookup.h"

#include <idn2.h>
#include <langinfo.h>
#include <locale.h>
#include <stdlib.h>

static bool names_are_ascii(const char *name)
{
	while (*name != '\0' && (unsigned char)*name < 0x80) {
		name++;
	}
	return *name == '\0';
}

static void names_set_locale(void)
{
	static bool is_set;
	if (!is_set) {
		setlocale(LC_CTYPE, "");
		is_set = true;
	}
}

/* In the locale C nobody says what other bytes are: they are UTF-8, as terminals have it. */
static int names_look_up(const char *name, char **ret_ascii)
{
	const int flags = IDN2_NFC_INPUT | IDN2_NONTRANSITIONAL;
	if (strcmp(nl_langinfo(CODESET), "ANSI_X3.4-1968") == 0) {
		return idn2_lookup_u8((const uint8_t *)name, (uint8_t **)ret_ascii, flags);
	}
	return idn2_lookup_ul(name, ret_ascii, flags);
}

const char *lookup_idn_in(const char *name, const char **ret_reason)
{
	char *ascii = NULL;
	if (names_are_ascii(name)) {
		return name;
	}
	names_set_locale();
	int result = names_look_up(name, &ascii);
	if (result != IDN2_OK) {
		*ret_reason = idn2_strerror(result);
		return NULL;
	}
	return ascii;
}

static bool names_have_a_label(const char *text)
{
	for (const char *at = text; at != NULL; at = strchr(at, '.')) {
		at += *at == '.';
		if (strncasecmp(at, "xn--", 4) == 0) {
			return true;
		}
	}
	return false;
}

/*
 * True if the name in the user's characters is the one that it is shown for (RFC 5891 5.4). Labels decode to anything:
 * controls of terminals, dots, marks that turn the direction of text. Only what IDNA permits comes back.
 */
static bool names_are_permitted(const char *text)
{
	char *unicode = NULL, *back = NULL;
	bool is_permitted =
			idn2_to_unicode_8z8z(text, &unicode, 0) == IDN2_OK &&
			idn2_lookup_u8((const uint8_t *)unicode, (uint8_t **)&back, IDN2_NONTRANSITIONAL) == IDN2_OK &&
			strcasecmp(back, text) == 0;
	idn2_free(unicode);
	idn2_free(back);
	return is_permitted;
}

size_t lookup_idn_print(knot_name_t name, char ret_text[static KNOT_NAME_TEXT_MAX])
{
	size_t len = knot_name_print(name, ret_text);
	char *local = NULL;
	if (!names_have_a_label(ret_text) || !names_are_permitted(ret_text)) {
		return len;
	}
	names_set_locale();
	if (idn2_to_unicode_8zlz(ret_text, &local, 0) == IDN2_OK && strlen(local) < KNOT_NAME_TEXT_MAX) {
		len = strlen(local);
		memcpy(ret_text, local, len + 1);
	}
	idn2_free(local);
	return len;
}
