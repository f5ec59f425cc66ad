/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/sim/faults_world.h"

#include <ctype.h>
#include <ftw.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libdnssec/internal.h"
#include "libdnssec/sign.h"
#include "src/event/internal.h"
#include "src/event/signing.h"
#include "src/event/zone_edit.h"
#include "src/event/zone_sign.h"
#include "src/sys/clock.h"
#include "src/update/proof_step.h"
#include "src/update/zonemd_step.h"
#include "src/validate/validate.h"
#include "src/zone/dump.h"
#include "src/zone/image.h"
#include "src/zone/zonemd.h"

enum { DAY_S = 86400, WAIT_MS = 60000, DELEGATIONS = 6, EVERY = 3 };

#define MUST(condition)                                                                                                \
	do {                                                                                                           \
		if (!(condition)) {                                                                                    \
			fprintf(stderr, "faults_sim: %s:%d: %s\n", __FILE__, __LINE__, #condition);                    \
			_exit(2);                                                                                      \
		}                                                                                                      \
	} while (0)

/* ---- In front of the server's own functions ---- */

/** What happens to the next version of a zone. One at a time. */
static struct {
	pthread_mutex_t lock;
	sim_world_t *world;
	sim_zone_t *zone; /* NULL: to none */
	update_source_t source;
	bool (*spoil)(sim_spoil_t *spoil);
	bool is_spoilt;
	bool was_proven, is_refused; /* by the proof */
	knot_err_t err;
	sim_keys_t keys;
	unsigned signatures;
	bool is_harmed;
} hook = { .lock = PTHREAD_MUTEX_INITIALIZER };
static _Thread_local bool is_spoiling; /* the simulation signs, under the lock */

/* NOLINTBEGIN(bugprone-reserved-identifier): the linker wants these names */
knot_err_t __real_update_run_zonemd(update_t *update);
knot_err_t __wrap_update_run_zonemd(update_t *update);
knot_err_t __real_update_run_proof(update_t *update);
knot_err_t __wrap_update_run_proof(update_t *update);
knot_err_t __real_signing_check_keys(
		const signing_t *signing, const zone_contents_t *served, const zone_contents_t *next, char *reason);
knot_err_t __wrap_signing_check_keys(
		const signing_t *signing, const zone_contents_t *served, const zone_contents_t *next, char *reason);
knot_err_t __real_dnssec_store_get(const dnssec_store_t *store, const char *id, dnssec_key_t *key);
knot_err_t __wrap_dnssec_store_get(const dnssec_store_t *store, const char *id, dnssec_key_t *key);
knot_err_t __real_dnssec_signer_sign(dnssec_signer_t *signer, const knot_bytes_t *pieces, size_t piece_count,
		uint8_t ret_signature[static DNSSEC_SIGNATURE_MAX], size_t *ret_len);
knot_err_t __wrap_dnssec_signer_sign(dnssec_signer_t *signer, const knot_bytes_t *pieces, size_t piece_count,
		uint8_t ret_signature[static DNSSEC_SIGNATURE_MAX], size_t *ret_len);

static bool hook_is_of(const update_t *update)
{
	return hook.zone != NULL && knot_name_eq(hook.zone->origin, update->origin) && hook.source == update->source;
}

/* Put the spoilt version in the place of the one that was signed. */
static void hook_spoil(update_t *update)
{
	zone_build_params_t params = update->policy->build;
	zone_txn_t *own = NULL;
	params.on_message = NULL;
	params.origin = update->origin;
	if (update->txn == NULL) {
		MUST(zone_txn_begin(update->next, &params, &own) == KNOT_OK);
	}
	sim_spoil_t spoil = { .random = &hook.world->random,
		.txn = update->txn != NULL ? update->txn : own,
		.rrs = sim_rrs_of(update->next),
		.origin = update->origin,
		.ksk = hook.zone->ksk,
		.zsk = hook.zone->zsk,
		.other = hook.zone->other,
		.now_s = sys_clock_wall() };
	size_t mark = zone_txn_mark(spoil.txn);
	zone_contents_t *next;
	is_spoiling = true;
	bool is_done = hook.spoil(&spoil) && !spoil.is_failed &&
		       zone_txn_build(spoil.txn, own != NULL ? update->next : update->base, &params, &next) == KNOT_OK;
	if (is_done) {
		zone_contents_free(update->next);
		update->next = next;
	} else {
		zone_txn_rollback(spoil.txn, mark);
	}
	is_spoiling = false;
	hook.is_spoilt = is_done;
	sim_rrs_free(&spoil.rrs);
	zone_txn_discard(own);
}

knot_err_t __wrap_update_run_zonemd(update_t *update)
{
	knot_err_t err = __real_update_run_zonemd(update);
	pthread_mutex_lock(&hook.lock);
	if (err == KNOT_OK && hook_is_of(update) && hook.spoil != NULL && !hook.is_spoilt) {
		hook_spoil(update);
	}
	pthread_mutex_unlock(&hook.lock);
	return err;
}

knot_err_t __wrap_update_run_proof(update_t *update)
{
	bool is_blind = hook.world->is_blind;
	knot_err_t err = is_blind ? KNOT_OK : __real_update_run_proof(update);
	pthread_mutex_lock(&hook.lock);
	if (hook_is_of(update)) {
		hook.was_proven = true;
		hook.is_refused = err != KNOT_OK;
	}
	pthread_mutex_unlock(&hook.lock);
	return err;
}

knot_err_t __wrap_signing_check_keys(
		const signing_t *signing, const zone_contents_t *served, const zone_contents_t *next, char *reason)
{
	return hook.world->is_blind ? KNOT_OK : __real_signing_check_keys(signing, served, next, reason);
}

knot_err_t __wrap_dnssec_store_get(const dnssec_store_t *store, const char *id, dnssec_key_t *key)
{
	knot_err_t err = __real_dnssec_store_get(store, id, key);
	pthread_mutex_lock(&hook.lock);
	const dnssec_key_t *other = hook.zone != NULL ? hook.zone->other : NULL;
	bool is_zsk = hook.zone != NULL && dnssec_key_tag(key) == dnssec_key_tag(hook.zone->zsk) &&
		      dnssec_key_flags(key) == dnssec_key_flags(hook.zone->zsk);
	if (err == KNOT_OK && hook.keys == SIM_KEYS_SWAPPED && is_zsk) {
		MUST(EVP_PKEY_up_ref(other->evp) == 1);
		EVP_PKEY_free(key->evp);
		key->evp = other->evp;
		hook.is_harmed = true;
	}
	pthread_mutex_unlock(&hook.lock);
	return err;
}

/* What another session of the token makes. */
static knot_err_t hook_sign_otherwise(
		const knot_bytes_t *pieces, size_t piece_count, uint8_t *ret_signature, size_t *ret_len)
{
	dnssec_signer_t *signer;
	MUST(dnssec_signer_new(hook.zone->other, false, &signer) == KNOT_OK);
	knot_err_t err = __real_dnssec_signer_sign(signer, pieces, piece_count, ret_signature, ret_len);
	dnssec_signer_free(signer);
	return err;
}

knot_err_t __wrap_dnssec_signer_sign(dnssec_signer_t *signer, const knot_bytes_t *pieces, size_t piece_count,
		uint8_t ret_signature[static DNSSEC_SIGNATURE_MAX], size_t *ret_len)
{
	if (is_spoiling) {
		return __real_dnssec_signer_sign(signer, pieces, piece_count, ret_signature, ret_len);
	}
	pthread_mutex_lock(&hook.lock);
	sim_keys_t keys = hook.zone != NULL && hook.spoil == NULL ? hook.keys : SIM_KEYS_FINE;
	bool is_turn = keys >= SIM_KEYS_SESSION && ++hook.signatures % EVERY == 0;
	hook.is_harmed = hook.is_harmed || is_turn;
	pthread_mutex_unlock(&hook.lock);
	if (is_turn && keys == SIM_KEYS_DYING) {
		return KNOT_PKCS11_ETOKEN;
	}
	if (is_turn && keys == SIM_KEYS_SESSION) {
		return hook_sign_otherwise(pieces, piece_count, ret_signature, ret_len);
	}
	knot_err_t err = __real_dnssec_signer_sign(signer, pieces, piece_count, ret_signature, ret_len);
	if (err == KNOT_OK && is_turn && keys == SIM_KEYS_GARBLED) {
		ret_signature[*ret_len / 2] ^= 1;
	}
	return err;
}
/* NOLINTEND(bugprone-reserved-identifier) */

/* ---- Files ---- */

static FILE *world_open(const sim_world_t *world, const char *name, const char *end)
{
	char path[256];
	snprintf(path, sizeof(path), "%s/%s%s", world->dir, name, end);
	FILE *file = fopen(path, "w");
	MUST(file != NULL);
	return file;
}

static void world_write_zone(sim_world_t *world, sim_zone_t *zone)
{
	FILE *file = world_open(world, zone->name, "zone");
	fprintf(file,
			"@ 600 SOA ns admin %u 3600 600 8640000 300\n@ 600 NS ns\n@ 600 TXT \"%llu\"\nns 600 A "
			"192.0.2.1\n",
			zone->file_serial++, (unsigned long long)sim_random(&world->random));
	fputs("*.wild 600 TXT any\na.b.ent 600 A 192.0.2.2\nalias 600 CNAME h0\n", file);
	for (unsigned i = 0; i < DELEGATIONS; i++) {
		fprintf(file, "i%u 600 NS ns.i%u\nns.i%u 600 A 192.0.2.3\n", i, i, i);
		fprintf(file, "s%u 600 NS ns.i%u\ns%u 600 DS %u 13 2 ", i, i, i, 1000 + i);
		fprintf(file, "%064u\n", i);
	}
	for (unsigned i = 0; i < zone->names; i++) {
		fprintf(file, "h%u 600 A 198.51.100.%u\nh%u 600 A 203.0.113.%u\n", i, i % 256, i,
				(unsigned)sim_below(&world->random, 256));
		if (i % 3 == 0) {
			fprintf(file, "h%u 600 TXT \"text %u\"\n", i, i);
		}
	}
	MUST(fclose(file) == 0);
}

/* Lower case, as the configuration has it. */
static const char *world_algorithm(uint8_t number)
{
	static char text[32];
	const char *name = dnssec_algorithm_find(number)->name;
	size_t len = strlen(name);
	for (size_t i = 0; i <= len; i++) {
		text[i] = (char)tolower((unsigned char)name[i]);
	}
	return text;
}

static void world_write_conf(sim_world_t *world)
{
	FILE *file = world_open(world, "knot", ".conf");
	fprintf(file, "server:\n  background-workers: 2\nlog:\n  - target: %s/log\n    any: notice\n", world->dir);
	fprintf(file, "database:\n  storage: %s\nkeystore:\n", world->dir);
	for (unsigned i = 1; i <= 3; i++) {
		fprintf(file, "  - id: s%u\n    config: store%u\n", i, i);
	}
	fputs("policy:\n", file);
	for (size_t i = 0; i < world->zone_count; i++) {
		const sim_zone_t *zone = &world->zones[i];
		fprintf(file, "  - id: p%zu\n    manual: on\n    algorithm: %s\n    single-type-signing: %s\n", i,
				world_algorithm(zone->algorithm), zone->is_single ? "on" : "off");
		fputs("    propagation-delay: 60\n    dnskey-ttl: 600\n    zone-max-ttl: 600\n    signing-threads: 2\n",
				file);
		fputs("    cds-cdnskey-publish: rollover\n", file);
		if ((zone->set & (SIM_NSEC3 | SIM_OPT_OUT)) != 0) {
			fprintf(file,
					"    nsec3: on\n    nsec3-opt-out: %s\n    nsec3-salt-length: %u\n    "
					"nsec3-iterations: %u\n",
					(zone->set & SIM_OPT_OUT) != 0 ? "on" : "off", i % 2 == 0 ? 4u : 0u,
					i % 3 == 0 ? 1u : 0u);
		}
		if (zone->use == SIM_STORES) {
			fputs("    keystore: [ s1, s2, s3 ]\n", file);
		}
	}
	fprintf(file, "template:\n  - id: default\n    storage: %s\n    dnssec-signing: on\n    zonefile-sync: -1\n",
			world->dir);
	fputs("zone:\n", file);
	for (size_t i = 0; i < world->zone_count; i++) {
		const sim_zone_t *zone = &world->zones[i];
		fprintf(file, "  - domain: %s\n    dnssec-policy: p%zu\n    zonemd-generate: %s\n", zone->name, i,
				(zone->set & SIM_ZONEMD) != 0 ? "zonemd-sha384" : "none");
	}
	MUST(fclose(file) == 0);
}

/* ---- Keys ---- */

static zone_keys_env_t world_env(const conf_t *conf, kasp_t *kasp, const sim_zone_t *zone)
{
	size_t index;
	MUST(conf_zone_find(conf, zone->origin, &index));
	conf_zone_t settings = conf_zone(conf, index);
	return (zone_keys_env_t){ .conf = conf,
		.policy = conf_zone_policy(conf, &settings),
		.kasp = kasp,
		.kasp_path = conf->database.kasp_db,
		.zone = zone->origin,
		.now_s = sys_clock_wall() };
}

/* Two keys with one tag: the second stays with nobody. */
static dnssec_key_t *world_make_twin(uint8_t algorithm, dnssec_key_t **ret_twin)
{
	static dnssec_key_t *by_tag[UINT16_MAX + 1];
	dnssec_key_t *found = NULL;
	while (found == NULL) {
		dnssec_key_t *key;
		MUST(dnssec_key_generate(algorithm, 0, DNSSEC_FLAG_ZONE, &key) == KNOT_OK);
		found = by_tag[dnssec_key_tag(key)];
		by_tag[dnssec_key_tag(key)] = found != NULL ? found : key;
		*ret_twin = key;
	}
	for (size_t i = 0; i <= UINT16_MAX; i++) {
		if (by_tag[i] != found) {
			dnssec_key_free(by_tag[i]);
		}
		by_tag[i] = NULL;
	}
	return found;
}

static void world_put_key(kasp_t *kasp, const sim_zone_t *zone, const kasp_key_t *key)
{
	kasp_txn_t *txn;
	MUST(kasp_begin(kasp, true, &txn) == KNOT_OK);
	MUST(kasp_put_key(txn, zone->origin, key) == KNOT_OK);
	MUST(kasp_commit(txn) == KNOT_OK);
}

/* The ZSK of a zone that has a twin. */
static void world_make_tagged(const zone_keys_env_t *env, sim_zone_t *zone, kasp_key_t *key, uint8_t *public)
{
	dnssec_key_t *made = world_make_twin(zone->algorithm, &zone->other);
	knot_bytes_t rdata = dnssec_key_rdata(made);
	*key = (kasp_key_t){ .algorithm = zone->algorithm, .flags = DNSSEC_FLAG_ZONE, .tag = dnssec_key_tag(made) };
	MUST(zone_keys_keep(env, false, made, key->id) == KNOT_OK);
	memcpy(public, rdata.data + 4, rdata.len - 4);
	key->public = (knot_bytes_t){ public, rdata.len - 4 };
	dnssec_key_free(made);
}

/* KSK, ZSK, and further ones that are in the zone for long. */
static void world_make_keys(const conf_t *conf, kasp_t *kasp, sim_zone_t *zone)
{
	const zone_keys_env_t env = world_env(conf, kasp, zone);
	size_t count = zone->is_single ? 1 : zone->use == SIM_ROLLS ? 4 : 2;
	for (size_t i = 0; i < count; i++) {
		uint8_t public[DNSSEC_KEY_RDATA_MAX];
		kasp_key_t key;
		bool is_ksk = i % 2 == 0, is_active = i < 2;
		const keys_wanted_t wanted = { .is_ksk = is_ksk,
			.is_zsk = !is_ksk || zone->is_single,
			.algorithm = zone->algorithm,
			.flags = DNSSEC_FLAG_ZONE | (is_ksk ? DNSSEC_FLAG_SEP : 0) };
		if (zone->use == SIM_TAGS && !is_ksk) {
			world_make_tagged(&env, zone, &key, public);
		} else {
			MUST(zone_keys_make(&env, &wanted, public, &key) == KNOT_OK);
		}
		key.is_ksk = wanted.is_ksk;
		key.is_zsk = wanted.is_zsk;
		uint64_t long_ago_s = env.now_s - 30 * DAY_S;
		key.times = (kasp_times_t){ .created = long_ago_s,
			.publish = long_ago_s,
			.ready = is_ksk && is_active ? long_ago_s : 0,
			.active = is_active ? long_ago_s : 0 };
		world_put_key(kasp, zone, &key);
		memcpy(zone->ids[i], key.id, sizeof(key.id));
	}
	if (zone->other == NULL) {
		MUST(dnssec_key_generate(zone->algorithm, 0, DNSSEC_FLAG_ZONE, &zone->other) == KNOT_OK);
	}
}

/* What the simulation signs with itself. */
static void world_open_keys(const conf_t *conf, kasp_t *kasp, sim_zone_t *zone)
{
	const zone_keys_env_t env = world_env(conf, kasp, zone);
	MUST(zone_keys_load(&env, &zone->keys) == KNOT_OK);
	MUST(zone_keys_open(&env, &zone->keys) == KNOT_OK);
	for (size_t i = 0; i < zone->keys.set.count; i++) {
		if (strcmp(zone->keys.set.keys[i].id, zone->ids[0]) == 0) {
			zone->ksk = zone->keys.opened[i];
		}
		if (strcmp(zone->keys.set.keys[i].id, zone->ids[zone->is_single ? 0 : 1]) == 0) {
			zone->zsk = zone->keys.opened[i];
		}
	}
	MUST(zone->ksk != NULL && zone->zsk != NULL);
}

static void world_prepare_keys(sim_world_t *world, const conf_t *conf)
{
	char reason[KASP_REASON_MAX];
	kasp_t *kasp;
	const kasp_params_t params = { .path = conf->database.kasp_db, .size_max = conf->database.kasp_db_max_size };
	MUST(kasp_open(&params, reason, &kasp) == KNOT_OK);
	for (size_t i = 0; i < world->zone_count; i++) {
		world_make_keys(conf, kasp, &world->zones[i]);
		world_open_keys(conf, kasp, &world->zones[i]);
	}
	kasp_close(kasp);
}

static kasp_t *world_kasp(sim_world_t *world)
{
	kasp_t *kasp;
	MUST(signing_kasp(world->server, &kasp) == KNOT_OK);
	return kasp;
}

static bool world_take_key(const kasp_key_t *key, void *ctx)
{
	MUST(keys_set_add(ctx, key) == KNOT_OK);
	return true;
}

keys_set_t sim_world_keys(sim_world_t *world, const sim_zone_t *zone)
{
	kasp_txn_t *txn;
	keys_set_t set = { .keys = NULL };
	MUST(kasp_begin(world_kasp(world), false, &txn) == KNOT_OK);
	MUST(kasp_each_key(txn, zone->origin, world_take_key, &set) == KNOT_OK);
	kasp_abort(txn);
	return set;
}

void sim_world_put_keys(sim_world_t *world, const sim_zone_t *zone, const keys_set_t *before, const keys_set_t *set)
{
	kasp_txn_t *txn;
	MUST(kasp_begin(world_kasp(world), true, &txn) == KNOT_OK);
	for (size_t i = 0; i < before->count; i++) {
		bool is_used;
		MUST(kasp_drop_key(txn, zone->origin, before->keys[i].id, &is_used) == KNOT_OK);
	}
	for (size_t i = 0; i < set->count; i++) {
		MUST(kasp_put_key(txn, zone->origin, &set->keys[i]) == KNOT_OK);
	}
	MUST(kasp_commit(txn) == KNOT_OK);
}

/* ---- Zones ---- */

static const struct {
	const char *name;
	unsigned set;
	uint8_t algorithm;
	unsigned names;
	bool is_single;
	sim_use_t use;
} zone_rows[] = {
	{ "nsec13.sim.", SIM_NSEC, 13, 4, false, SIM_PLAIN },
	{ "nsec13l.sim.", SIM_NSEC, 13, 300, false, SIM_PLAIN },
	{ "nsec15.sim.", SIM_NSEC, 15, 40, true, SIM_PLAIN },
	{ "nsec8.sim.", SIM_NSEC, 8, 4, false, SIM_PLAIN },
	{ "nsec3x13.sim.", SIM_NSEC3, 13, 4, false, SIM_PLAIN },
	{ "nsec3x13l.sim.", SIM_NSEC3, 13, 300, true, SIM_PLAIN },
	{ "nsec3x14.sim.", SIM_NSEC3, 14, 4, false, SIM_PLAIN },
	{ "out13.sim.", SIM_OPT_OUT, 13, 4, false, SIM_PLAIN },
	{ "out15l.sim.", SIM_OPT_OUT, 15, 300, false, SIM_PLAIN },
	{ "out10.sim.", SIM_OPT_OUT, 10, 4, false, SIM_PLAIN },
	{ "digest.sim.", SIM_ZONEMD, 13, 20, false, SIM_PLAIN },
	{ "digest3.sim.", SIM_ZONEMD | SIM_NSEC3, 13, 20, false, SIM_PLAIN },
	{ "rolls.sim.", SIM_NSEC, 13, 10, false, SIM_ROLLS },
	{ "rolls3.sim.", SIM_NSEC3, 15, 10, false, SIM_ROLLS },
	{ "tags.sim.", SIM_NSEC, 13, 10, false, SIM_TAGS },
	{ "tags3.sim.", SIM_OPT_OUT, 15, 10, false, SIM_TAGS },
	{ "stores.sim.", SIM_NSEC3, 13, 10, false, SIM_STORES },
};

static void world_make_zones(sim_world_t *world)
{
	world->zone_count = KNOT_LEN(zone_rows);
	world->zones = calloc(world->zone_count, sizeof(*world->zones));
	MUST(world->zones != NULL);
	for (size_t i = 0; i < world->zone_count; i++) {
		sim_zone_t *zone = &world->zones[i];
		*zone = (sim_zone_t){ .name = zone_rows[i].name,
			.set = zone_rows[i].set,
			.algorithm = zone_rows[i].algorithm,
			.names = zone_rows[i].names,
			.is_single = zone_rows[i].is_single,
			.use = zone_rows[i].use,
			.file_serial = 1 };
		MUST(knot_name_scan(knot_str_of(zone->name), knot_name_root, zone->wire, &zone->origin) == KNOT_OK);
		world_write_zone(world, zone);
	}
}

void sim_world_begin(sim_world_t *world, uint64_t seed)
{
	static const conf_host_t host = { .cpu_count = 2, .nofile_max = 1024, .hostname = "ns.sim", .version = "Test" };
	static char conf_path[96];
	conf_t *conf;
	*world = (sim_world_t){ .random = { sim_mix(seed) }, .now_s = sys_clock_wall() };
	hook.world = world;
	const char *tmp = getenv("TMPDIR");
	snprintf(world->dir, sizeof(world->dir), "%.40s/faults.XXXXXX", tmp != NULL ? tmp : "/tmp");
	MUST(mkdtemp(world->dir) != NULL);
	world_make_zones(world);
	world_write_conf(world);
	snprintf(conf_path, sizeof(conf_path), "%s/knot.conf", world->dir);
	MUST(conf_load(conf_path, &host, server_conf_sink(), &conf) == KNOT_OK);
	world_prepare_keys(world, conf);
	const server_params_t params = { .conf_path = conf_path, .host = &host, .uid = getuid(), .gid = getgid() };
	(void)server_open_logs(conf, params.uid, params.gid);
	MUST(server_new(conf, &params, &world->server) == KNOT_OK && server_start(world->server) == KNOT_OK);
	server_load_zones(world->server);
	MUST(server_wait_loaded(world->server, WAIT_MS));
	server_wait_idle(world->server);
}

static int world_remove(const char *path, const struct stat *info, int kind, struct FTW *where)
{
	(void)info, (void)kind, (void)where;
	return remove(path);
}

void sim_world_end(sim_world_t *world)
{
	server_stop(world->server);
	server_free(world->server);
	for (size_t i = 0; i < world->zone_count; i++) {
		zone_keys_done(&world->zones[i].keys);
		dnssec_key_free(world->zones[i].other);
	}
	free(world->zones);
	(void)nftw(world->dir, world_remove, 8, FTW_DEPTH | FTW_PHYS);
}

sim_zone_t *sim_world_draw(sim_world_t *world, unsigned set, sim_use_t use)
{
	size_t first = (size_t)sim_below(&world->random, world->zone_count);
	bool wants_digest = (set & SIM_ZONEMD) != 0;
	for (size_t i = 0; i < world->zone_count; i++) {
		sim_zone_t *zone = &world->zones[(first + i) % world->zone_count];
		bool has_digest = (zone->set & SIM_ZONEMD) != 0;
		if (zone->use == use && (zone->set & set) != 0 && has_digest == wants_digest) {
			return zone;
		}
	}
	return NULL;
}

/* ---- Versions ---- */

static void world_set(const edit_t *edit, const char *owner, const char *type, const char *data)
{
	edit_note_t note;
	const edit_words_t words = { .owner = owner, .ttl = "600", .type = type, .data = data };
	knot_err_t err = edit_set(edit, &words, &note);
	MUST(err == KNOT_OK || err == KNOT_EISRECORD);
}

static void world_unset(const edit_t *edit, const char *owner)
{
	edit_note_t note;
	const edit_words_t words = { .owner = owner };
	knot_err_t err = edit_unset(edit, &words, &note);
	MUST(err == KNOT_OK || err == KNOT_ENONODE || err == KNOT_ENORECORD);
}

/* Some names come, go, or change; one does for certain. */
static void world_edit(sim_world_t *world, const sim_zone_t *zone, const edit_t *edit)
{
	char owner[32], data[128];
	sim_random_t *random = &world->random;
	snprintf(data, sizeof(data), "\"%llu\"", (unsigned long long)sim_random(random));
	world_unset(edit, "changed");
	world_set(edit, "changed", "TXT", data);
	for (unsigned i = (unsigned)sim_below(random, 4); i > 0; i--) {
		snprintf(owner, sizeof(owner), "n%u", (unsigned)sim_below(random, zone->names + 4));
		switch (sim_below(random, 4)) {
		case 0: world_unset(edit, owner); break;
		case 1:
			world_unset(edit, owner);
			world_set(edit, owner, "NS", "ns.elsewhere.");
			break;
		case 2:
			world_unset(edit, owner);
			world_set(edit, owner, "NS", "ns.elsewhere.");
			snprintf(data, sizeof(data), "%u 13 2 %064u", (unsigned)sim_below(random, 60000), 7u);
			world_set(edit, owner, "DS", data);
			break;
		default:
			world_unset(edit, owner);
			snprintf(data, sizeof(data), "192.0.2.%u", (unsigned)sim_below(random, 256));
			world_set(edit, owner, "A", data);
			break;
		}
	}
}

static knot_err_t world_commit_edit(sim_world_t *world, sim_zone_t *zone)
{
	static const server_author_t author = { .who = "" };
	server_commit_t commit = { .reason = "" };
	server_edit_t *entered;
	edit_t edit;
	MUST(server_edit_begin(world->server, zone->origin, false) == KNOT_OK);
	MUST(server_edit_enter(world->server, zone->origin, &entered, &edit) == KNOT_OK);
	world_edit(world, zone, &edit);
	server_edit_leave(world->server, entered);
	knot_err_t err = server_edit_commit(world->server, zone->origin, &author, &commit);
	if (err != KNOT_OK) {
		MUST(server_edit_abort(world->server, zone->origin) == KNOT_OK);
	}
	return err;
}

static knot_err_t world_commit_sign(sim_world_t *world, sim_zone_t *zone)
{
	server_ticket_t ticket;
	MUST(server_zone_sign(world->server, zone->origin, EVENT_DROPS_SIGNATURES, &ticket) == KNOT_OK);
	return server_zone_wait(world->server, zone->origin, ticket);
}

static knot_err_t world_commit_file(sim_world_t *world, sim_zone_t *zone)
{
	server_ticket_t ticket;
	world_write_zone(world, zone);
	MUST(server_zone_ask(world->server, zone->origin, EVENT_LOAD, 0, &ticket) == KNOT_OK);
	return server_zone_wait(world->server, zone->origin, ticket);
}

/* What is served; free it. */
static zone_contents_t *world_hold(sim_world_t *world, const sim_zone_t *zone)
{
	RCU_READ_SECTION(guard);
	const zone_t *found = zonedb_find(state_load(server_state(world->server), guard)->zones, zone->origin);
	MUST(zone_contents(found) != NULL);
	zone_contents_t *held = zone_image_hold(zone_contents(found));
	MUST(held != NULL);
	return held;
}

static uint32_t world_serial(sim_world_t *world, const sim_zone_t *zone)
{
	zone_contents_t *held = world_hold(world, zone);
	uint32_t serial = held->serial;
	zone_contents_free(held);
	return serial;
}

knot_err_t sim_world_error(void)
{
	return hook.err;
}

static sim_outcome_t world_outcome(bool is_published)
{
	if (hook.spoil != NULL ? !hook.is_spoilt : hook.keys != SIM_KEYS_FINE && !hook.is_harmed) {
		return SIM_MISSED;
	}
	return is_published                              ? SIM_PUBLISHED
	       : hook.is_refused                         ? SIM_BY_PROOF
	       : hook.err == KNOT_EGUARDRAIL             ? SIM_BY_RAIL
	       : hook.err != KNOT_OK && !hook.was_proven ? SIM_BY_KEYS
							 : SIM_MISSED;
}

sim_outcome_t sim_world_commit(sim_world_t *world, sim_zone_t *zone, sim_way_t way, bool (*spoil)(sim_spoil_t *spoil),
		sim_keys_t keys, bool *ret_serial_moved)
{
	static const struct {
		update_source_t source;
		knot_err_t (*commit)(sim_world_t *world, sim_zone_t *zone);
	} ways[SIM_WAYS] = {
		[SIM_BY_EDIT] = { UPDATE_CONTROL, world_commit_edit },
		[SIM_BY_SIGNER] = { UPDATE_SIGNER, world_commit_sign },
		[SIM_BY_FILE] = { UPDATE_FILE, world_commit_file },
	};
	uint32_t before = world_serial(world, zone);
	pthread_mutex_lock(&hook.lock);
	hook.zone = zone;
	hook.source = ways[way].source;
	hook.spoil = spoil;
	hook.keys = keys;
	hook.signatures = (unsigned)sim_below(&world->random, EVERY);
	hook.is_spoilt = hook.is_harmed = hook.was_proven = hook.is_refused = false;
	pthread_mutex_unlock(&hook.lock);
	hook.err = ways[way].commit(world, zone);
	pthread_mutex_lock(&hook.lock);
	*ret_serial_moved = world_serial(world, zone) != before;
	sim_outcome_t outcome = world_outcome(*ret_serial_moved);
	hook.zone = NULL;
	hook.keys = SIM_KEYS_FINE;
	pthread_mutex_unlock(&hook.lock);
	return outcome;
}

void sim_world_sweep(sim_world_t *world, sim_zone_t *zone)
{
	server_t *server = world->server;
	sys_mutex_lock(&server->jobs.lock);
	entry_t *entry = server_find_entry(server, zone->origin);
	MUST(entry != NULL);
	entry->is_proven = false;
	(void)jobs_plan(&server->jobs, entry, EVENT_VALIDATE, sys_clock_ms(), 0);
	sys_mutex_unlock(&server->jobs.lock);
	server_wait_idle(server); /* what it finds is signed again at once */
}

knot_err_t sim_world_check(sim_world_t *world, const sim_zone_t *zone)
{
	const validate_options_t options = { .now_s = sys_clock_wall(), .all_algorithms = true };
	validate_result_t result;
	zone_contents_t *held = world_hold(world, zone);
	knot_err_t err = validate_zone(held, &options, &result);
	zone_contents_free(held);
	return err;
}

knot_err_t sim_world_check_digest(sim_world_t *world, const sim_zone_t *zone)
{
	zone_contents_t *held = world_hold(world, zone);
	knot_err_t err = zonemd_verify(held);
	zone_contents_free(held);
	return err;
}

void sim_world_dump(sim_world_t *world, const sim_zone_t *zone, const char *folder)
{
	char path[256];
	snprintf(path, sizeof(path), "%s/%szone", folder, zone->name);
	const zone_dump_params_t params = { .program = "faults_sim", .now_s = sys_clock_wall() };
	zone_contents_t *held = world_hold(world, zone);
	FILE *file = fopen(path, "w");
	MUST(file != NULL);
	MUST(zone_dump(held, fileno(file), &params) == KNOT_OK);
	MUST(fclose(file) == 0);
	zone_contents_free(held);
}
