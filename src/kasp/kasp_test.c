/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/kasp/kasp.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[] = "/tmp/bowline-kasp-XXXXXX";
static char path[64];
static const uint8_t example[] = "\7eXample\3com", other[] = "\5other", child[] = "\1a\7example\3com";

static int make_folder(void **state)
{
	(void)state;
	strcpy(folder + sizeof(folder) - 7, "XXXXXX");
	if (mkdtemp(folder) == NULL) {
		return -1;
	}
	snprintf(path, sizeof(path), "%s/keys", folder);
	return 0;
}

static int remove_folder(void **state)
{
	(void)state;
	char command[128];
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	return system(command);
}

static kasp_t *open_db(bool read_only)
{
	char reason[KASP_REASON_MAX];
	kasp_t *kasp = NULL;
	knot_err_t err = kasp_open(&(kasp_params_t){ path, 16 << 20, read_only }, reason, &kasp);
	if (err != KNOT_OK) {
		fail_msg("%s: %s", knot_strerror(err), reason);
	}
	return kasp;
}

/* A key that knotd 3.2 made: the head of its record is in the documents of the layout. */
static kasp_key_t make_key(char digit, uint16_t flags, const dnssec_key_t *from)
{
	knot_bytes_t rdata = dnssec_key_rdata(from);
	kasp_key_t key = { .algorithm = dnssec_key_algorithm(from),
		.flags = flags,
		.is_ksk = flags == 257,
		.is_zsk = flags == 256,
		.times = { .created = 1, .publish = 2, .ready = 3, .active = 4, .revoke = UINT64_C(1) << 33 },
		.public = { rdata.data + 4, rdata.len - 4 } };
	memset(key.id, digit, DNSSEC_KEY_ID_LEN);
	key.tag = dnssec_key_tag(from);
	return key;
}

static void check_same(const kasp_key_t *a, const kasp_key_t *b)
{
	assert_string_equal(a->id, b->id);
	assert_int_equal(a->algorithm, b->algorithm);
	assert_int_equal(a->flags, b->flags);
	assert_int_equal(a->tag, b->tag);
	assert_int_equal(a->is_ksk, b->is_ksk);
	assert_int_equal(a->is_zsk, b->is_zsk);
	assert_int_equal(a->is_public_only, b->is_public_only);
	assert_int_equal(a->is_for_later, b->is_for_later);
	assert_memory_equal(&a->times, &b->times, sizeof(a->times));
	assert_int_equal(a->public.len, b->public.len);
	assert_memory_equal(a->public.data, b->public.data, a->public.len);
}

static void test_records(void **state)
{
	(void)state;
	dnssec_key_t *made;
	assert_int_equal(dnssec_key_generate(DNSSEC_ECDSAP256SHA256, 0, 257, &made), KNOT_OK);
	kasp_key_t key = make_key('a', 257, made), read;
	uint8_t value[KASP_VALUE_MAX];
	for (unsigned i = 0; i < 16; i++) {
		key.is_ksk = i % 2 != 0;
		key.is_zsk = !key.is_ksk || i / 2 % 2 != 0;
		key.is_public_only = i / 4 % 2 != 0;
		key.is_for_later = i / 8 != 0;
		size_t len = kasp_key_write(&key, value);
		assert_int_equal(len, 164);
		assert_memory_equal(value, "\0\0\0\0\0\0\0\100\0\0\0\0\0\0\0\10", 16);
		assert_int_equal(kasp_key_read(key.id, (knot_bytes_t){ value, len }, &read), KNOT_OK);
		check_same(&key, &read);
		assert_int_equal(kasp_key_read(key.id, (knot_bytes_t){ value, len - 1 }, &read), KNOT_EMALF);
	}
	size_t len = kasp_key_write(&key, value);
	assert_int_equal(kasp_key_read("short", (knot_bytes_t){ value, len }, &read), KNOT_EMALF);
	value[16] ^= 0x40; /* the tag: no flags fit */
	assert_int_equal(kasp_key_read(key.id, (knot_bytes_t){ value, len }, &read), KNOT_EMALF);
	value[16] ^= 0x40;
	/* Old data without an extension. */
	memset(value + 8, 0, 8);
	assert_int_equal(kasp_key_read(key.id, (knot_bytes_t){ value, len - 8 }, &read), KNOT_OK);
	assert_int_equal(read.times.revoke, 0);
	memset(value, 0xff, 8);
	assert_int_equal(kasp_key_read(key.id, (knot_bytes_t){ value, len }, &read), KNOT_EMALF);
	dnssec_key_free(made);
}

static void test_ids(void **state)
{
	(void)state;
	char longest[DNSSEC_KEY_ID_MAX + 3];
	memset(longest, 'f', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	const struct {
		const char *id;
		knot_err_t want;
	} rows[] = { { "a1", KNOT_OK }, { longest + 2, KNOT_OK }, { longest, KNOT_EMALF }, { "", KNOT_EMALF },
		{ "abc", KNOT_EMALF }, { "A1", KNOT_EMALF }, { "a1/../", KNOT_EMALF } };
	uint8_t value[KASP_VALUE_MAX];
	dnssec_key_t *made;
	assert_int_equal(dnssec_key_generate(DNSSEC_ED25519, 0, 257, &made), KNOT_OK);
	const kasp_key_t key = make_key('a', 257, made);
	size_t len = kasp_key_write(&key, value);
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		kasp_key_t read;
		assert_int_equal(kasp_key_read(rows[i].id, (knot_bytes_t){ value, len }, &read), rows[i].want);
		if (rows[i].want == KNOT_OK) {
			assert_string_equal(read.id, rows[i].id);
		}
	}
	dnssec_key_free(made);
}

static bool count_key(const kasp_key_t *key, void *ctx)
{
	char *ids = ctx;
	size_t len = strlen(ids);
	ids[len] = key->id[0];
	ids[len + 1] = '\0';
	return true;
}

static void count_zone(knot_name_t zone, void *ctx)
{
	char text[KNOT_NAME_TEXT_MAX];
	(void)knot_name_print(zone, text);
	strcat(ctx, text);
	strcat(ctx, " ");
}

static bool count_trash(knot_name_t zone, const kasp_trash_t *trash, void *ctx)
{
	(void)zone;
	assert_true(trash->is_zsk && !trash->is_ksk);
	*(uint64_t *)ctx += trash->discard_s;
	return true;
}

static void test_store(void **state)
{
	(void)state;
	dnssec_key_t *made;
	kasp_txn_t *txn;
	char ids[8] = "", zones[64] = "";
	bool is_used;
	assert_int_equal(dnssec_key_generate(DNSSEC_ED25519, 0, 256, &made), KNOT_OK);
	const kasp_key_t a = make_key('a', 256, made), b = make_key('b', 256, made);
	kasp_t *kasp = open_db(false);
	assert_int_equal(kasp_begin(kasp, true, &txn), KNOT_OK);
	const kasp_trash_t trash = {
		.id = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb", .discard_s = 77, .is_zsk = true
	};
	kasp_trash_t kept = trash;
	memset(kept.id, 'c', DNSSEC_KEY_ID_LEN);
	assert_int_equal(kasp_put_trash(txn, knot_name_of(other), &trash), KNOT_OK);
	assert_int_equal(kasp_put_trash(txn, knot_name_of(example), &trash), KNOT_OK);
	assert_int_equal(kasp_put_trash(txn, knot_name_of(example), &kept), KNOT_OK);
	assert_int_equal(kasp_put_key(txn, knot_name_of(example), &b), KNOT_OK);
	assert_int_equal(kasp_put_key(txn, knot_name_of(example), &a), KNOT_OK);
	assert_int_equal(kasp_put_key(txn, knot_name_of(other), &a), KNOT_OK);
	assert_int_equal(kasp_put_key(txn, knot_name_of(child), &a), KNOT_OK);
	assert_int_equal(kasp_put_shared(txn, "p", knot_name_of(example), a.id), KNOT_OK);
	assert_int_equal(kasp_put_salt(txn, knot_name_of(example), (knot_bytes_t){ (const uint8_t *)"\1\2", 2 },
					 UINT64_C(5) << 32),
			KNOT_OK);
	assert_int_equal(kasp_put_salt(txn, knot_name_of(other), (knot_bytes_t){ NULL, 0 }, 0), KNOT_OK);
	assert_int_equal(kasp_put_serial(txn, KASP_SIGNED_SERIAL, knot_name_of(example), UINT32_MAX), KNOT_OK);
	assert_int_equal(kasp_put_ttls(txn, knot_name_of(example), 86400, 3600), KNOT_OK);
	assert_int_equal(kasp_commit(txn), KNOT_OK);
	kasp_close(kasp);

	kasp = open_db(true);
	assert_int_equal(kasp_begin(kasp, true, &txn), KNOT_EACCES);
	assert_int_equal(kasp_begin(kasp, false, &txn), KNOT_OK);
	assert_int_equal(kasp_each_key(txn, knot_name_of(example), count_key, ids), KNOT_OK);
	assert_string_equal(ids, "ab");
	assert_int_equal(kasp_each_zone(txn, count_zone, zones), KNOT_OK);
	assert_string_equal(zones, "a.example.com. other. example.com. ");
	kasp_key_t shared;
	assert_int_equal(kasp_get_shared(txn, "p", &shared), KNOT_OK);
	check_same(&shared, &a);
	assert_int_equal(kasp_get_shared(txn, "q", &shared), KNOT_ENOENT);
	uint8_t salt[KASP_SALT_MAX];
	size_t salt_len;
	uint64_t made_s, sum = 0;
	uint32_t serial, max_s, key_s;
	assert_int_equal(kasp_get_salt(txn, knot_name_of(example), salt, &salt_len, &made_s), KNOT_OK);
	assert_int_equal(salt_len, 2);
	assert_int_equal(made_s, UINT64_C(5) << 32);
	assert_int_equal(kasp_get_salt(txn, knot_name_of(other), salt, &salt_len, &made_s), KNOT_OK);
	assert_int_equal(salt_len, 0);
	assert_int_equal(kasp_get_serial(txn, KASP_SIGNED_SERIAL, knot_name_of(example), &serial), KNOT_OK);
	assert_int_equal(serial, UINT32_MAX);
	assert_int_equal(kasp_get_serial(txn, KASP_PRIMARY_SERIAL, knot_name_of(example), &serial), KNOT_ENOENT);
	assert_int_equal(kasp_get_ttls(txn, knot_name_of(example), &max_s, &key_s), KNOT_OK);
	assert_int_equal(max_s, 86400);
	assert_int_equal(key_s, 3600);
	/* A key that is used again takes its id out of the trash, whichever zone it was of. */
	assert_int_equal(kasp_each_trash(txn, count_trash, &sum), KNOT_OK);
	assert_int_equal(sum, 77);
	kasp_abort(txn);
	kasp_close(kasp);

	kasp = open_db(false);
	assert_int_equal(kasp_begin(kasp, true, &txn), KNOT_OK);
	assert_int_equal(kasp_drop_key(txn, knot_name_of(example), a.id, &is_used), KNOT_OK);
	assert_true(is_used);
	assert_int_equal(kasp_drop_key(txn, knot_name_of(example), a.id, &is_used), KNOT_ENOENT);
	assert_int_equal(kasp_get_shared(txn, "p", &shared), KNOT_ENOENT);
	assert_int_equal(kasp_drop_key(txn, knot_name_of(other), a.id, &is_used), KNOT_OK);
	assert_int_equal(kasp_drop_key(txn, knot_name_of(child), a.id, &is_used), KNOT_OK);
	assert_false(is_used);
	kasp_trash_t taken;
	is_used = true;
	assert_int_equal(kasp_take_trash(txn, knot_name_of(example), kept.id, &taken, &is_used), KNOT_OK);
	assert_int_equal(taken.discard_s, 77);
	assert_string_equal(taken.id, kept.id);
	assert_false(is_used);
	assert_int_equal(kasp_take_trash(txn, knot_name_of(example), kept.id, &taken, &is_used), KNOT_ENOENT);
	/* As databases have it that others wrote. */
	memset(kept.id, 'b', DNSSEC_KEY_ID_LEN);
	assert_int_equal(kasp_put_trash(txn, knot_name_of(child), &kept), KNOT_OK);
	assert_int_equal(kasp_take_trash(txn, knot_name_of(child), kept.id, &taken, &is_used), KNOT_OK);
	assert_true(is_used);
	kasp_abort(txn);
	kasp_close(kasp);
	dnssec_key_free(made);
}

/* Two processes write by turns; a page that is damaged is found before LMDB follows it, and nothing is set aside. */
static void test_file(void **state)
{
	(void)state;
	dnssec_key_t *made;
	kasp_txn_t *txn;
	char reason[KASP_REASON_MAX], ids[64] = "", file[96];
	assert_int_equal(kasp_open(&(kasp_params_t){ path, 1 << 20, true }, reason, &(kasp_t *){ NULL }), KNOT_ENOENT);
	assert_int_equal(dnssec_key_generate(DNSSEC_ED25519, 0, 256, &made), KNOT_OK);
	kasp_t *kasp = open_db(false);
	pid_t process = fork();
	if (process == 0) {
		const kasp_key_t key = make_key('1', 256, made);
		kasp_t *second = open_db(false);
		bool is_good = kasp_begin(second, true, &txn) == KNOT_OK &&
			       kasp_put_key(txn, knot_name_of(example), &key) == KNOT_OK && kasp_commit(txn) == KNOT_OK;
		kasp_close(second);
		_exit(is_good ? 0 : 1);
	}
	int status;
	assert_int_equal(waitpid(process, &status, 0), process);
	assert_int_equal(status, 0);
	for (char digit = '2'; digit < '9'; digit++) {
		const kasp_key_t key = make_key(digit, 256, made);
		assert_int_equal(kasp_begin(kasp, true, &txn), KNOT_OK);
		assert_int_equal(kasp_put_key(txn, knot_name_of(example), &key), KNOT_OK);
		assert_int_equal(kasp_commit(txn), KNOT_OK);
	}
	assert_int_equal(kasp_begin(kasp, false, &txn), KNOT_OK);
	assert_int_equal(kasp_each_key(txn, knot_name_of(example), count_key, ids), KNOT_OK);
	assert_string_equal(ids, "12345678");
	kasp_abort(txn);
	kasp_close(kasp);
	snprintf(file, sizeof(file), "%s/data.mdb", path);
	struct stat before, after;
	assert_int_equal(stat(file, &before), 0);
	int fd = open(file, O_RDWR);
	assert_true(fd >= 0);
	for (off_t at = 2 * 4096; at < before.st_size; at += 4096) {
		uint8_t head[16];
		assert_int_equal(pread(fd, head, sizeof(head), at), sizeof(head));
		memset(head + 8, 0xee, 8);
		assert_int_equal(pwrite(fd, head, sizeof(head), at), sizeof(head));
	}
	close(fd);
	assert_int_equal(kasp_open(&(kasp_params_t){ path, 16 << 20, false }, reason, &kasp), KNOT_EMALF);
	assert_non_null(strstr(reason, "data.mdb: "));
	assert_int_equal(stat(file, &after), 0);
	assert_int_equal(before.st_ino, after.st_ino);
	dnssec_key_free(made);
}

/* What a command prints. */
static void run_command(const char *format, const char *argument, char *ret_text, size_t max)
{
	char command[512];
	snprintf(command, sizeof(command), format, argument);
	FILE *pipe = popen(command, "r");
	assert_non_null(pipe);
	size_t len = fread(ret_text, 1, max - 1, pipe);
	ret_text[len] = '\0';
	assert_int_equal(pclose(pipe), 0);
}

static bool print_key(const kasp_key_t *key, void *ctx)
{
	char *text = ctx;
	snprintf(text + strlen(text), 512,
			"%s ksk=%-3s zsk=%-3s tag=%05u algorithm=%-2u publish=%llu ready=%llu active=%llu "
			"remove=%llu\n",
			key->id, key->is_ksk ? "yes" : "no", key->is_zsk ? "yes" : "no", key->tag, key->algorithm,
			(unsigned long long)key->times.publish, (unsigned long long)key->times.ready,
			(unsigned long long)key->times.active, (unsigned long long)key->times.remove);
	return true;
}

/* Both ways with the distribution's keymgr. */
static void test_exchange(void **state)
{
	(void)state;
	static const char list[] = "keymgr -D %s/keys example.com. list -e 2>/dev/null | sed -E 's/size=[0-9]+ +//; "
				   "s/public-only=no +//; s/pre-active=[0-9]+ //; "
				   "s/ retire-active=.* (remove=)/ \\1/'";
	char want[4096], found[4096] = "", out[256];
	kasp_txn_t *txn;
	run_command("keymgr -D %s/keys example.com. generate ksk=yes algorithm=13 2>/dev/null", folder, out,
			sizeof(out));
	run_command("keymgr -D %s/keys example.com. generate algorithm=15 retire=+20d remove=+30d 2>/dev/null", folder,
			out, sizeof(out));
	run_command("keymgr -D %s/keys example.com. generate ksk=yes zsk=yes algorithm=8 size=1024 2>/dev/null", folder,
			out, sizeof(out));
	run_command(list, folder, want, sizeof(want));
	kasp_t *kasp = open_db(false);
	assert_int_equal(kasp_begin(kasp, true, &txn), KNOT_OK);
	assert_int_equal(kasp_each_key(txn, knot_name_of(example), print_key, found), KNOT_OK);
	assert_true(strlen(found) > 300);
	assert_string_equal(found, want);

	dnssec_key_t *made;
	assert_int_equal(dnssec_key_generate(DNSSEC_ED448, 0, 256, &made), KNOT_OK);
	kasp_key_t ours = make_key('c', 256, made);
	ours.times.revoke = 0;
	assert_int_equal(kasp_put_key(txn, knot_name_of(example), &ours), KNOT_OK);
	assert_int_equal(kasp_put_salt(txn, knot_name_of(example), (knot_bytes_t){ (const uint8_t *)"\xab\xcd", 2 }, 5),
			KNOT_OK);
	assert_int_equal(kasp_put_serial(txn, KASP_PRIMARY_SERIAL, knot_name_of(example), 4242), KNOT_OK);
	assert_int_equal(kasp_commit(txn), KNOT_OK);
	assert_int_equal(kasp_begin(kasp, false, &txn), KNOT_OK);
	found[0] = '\0';
	assert_int_equal(kasp_each_key(txn, knot_name_of(example), print_key, found), KNOT_OK);
	kasp_abort(txn);
	kasp_close(kasp);
	run_command(list, folder, want, sizeof(want));
	assert_string_equal(found, want);
	assert_non_null(strstr(want, "cccccccccc"));
	run_command("keymgr -D %s/keys example.com. nsec3-salt 2>/dev/null", folder, out, sizeof(out));
	assert_non_null(strstr(out, "ABCD"));
	run_command("keymgr -D %s/keys example.com. master-serial 2>/dev/null", folder, out, sizeof(out));
	assert_non_null(strstr(out, "4242"));
	dnssec_key_free(made);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_records),
		cmocka_unit_test(test_ids),
		cmocka_unit_test_setup_teardown(test_store, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(test_file, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(test_exchange, make_folder, remove_folder),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
