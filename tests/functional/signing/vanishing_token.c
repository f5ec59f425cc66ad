/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A PKCS #11 module for tests: SoftHSM's, of which nothing is left while the file that TOKEN_IS_GONE names exists, as
 * if the device were unplugged: no slot has a token, and sessions that were open fail. A number in the file: after so
 * many signatures. `lies` behind it: nothing is gone, but all signatures are wrong that a session makes after so many;
 * `stalls`: none is made after so many while the file exists.
 * While the file that TOKEN_IN_TROUBLE names exists, the first search for a key fails, and nothing can be stored.
 */
#include <dlfcn.h>
#include <p11-kit/pkcs11.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static CK_FUNCTION_LIST real, shown;

enum { SESSIONS = 65536 };
static atomic_long made;              /* signatures since the file is there */
static atomic_long made_by[SESSIONS]; /* by sessions */

/* How many signatures may still be made, before what the word says happens; -1: any number. "": the token is gone. */
static long limit_of(const char *wanted)
{
	const char *path = getenv("TOKEN_IS_GONE");
	FILE *file = path != NULL ? fopen(path, "r") : NULL;
	long left = 0;
	char word[8] = "";
	if (file == NULL) {
		made = 0;
		return -1;
	}
	if (fscanf(file, "%ld %7s", &left, word) < 1) {
		left = 0;
	}
	fclose(file);
	return strcmp(word, wanted) == 0 ? left : -1;
}

static int is_gone(void)
{
	long limit = limit_of("");
	return limit >= 0 && made >= limit;
}

static int is_in_trouble(void)
{
	const char *path = getenv("TOKEN_IN_TROUBLE");
	return path != NULL && access(path, F_OK) == 0;
}

static CK_RV find_objects_init(CK_SESSION_HANDLE session, CK_ATTRIBUTE *attributes, CK_ULONG count)
{
	static atomic_int failed;
	if (is_in_trouble() && atomic_fetch_add(&failed, 1) == 0) {
		return CKR_DEVICE_ERROR;
	}
	return real.C_FindObjectsInit(session, attributes, count);
}

static CK_RV create_object(
		CK_SESSION_HANDLE session, CK_ATTRIBUTE *attributes, CK_ULONG count, CK_OBJECT_HANDLE *object)
{
	return is_in_trouble() ? CKR_DEVICE_MEMORY : real.C_CreateObject(session, attributes, count, object);
}

static CK_RV get_slot_list(CK_BBOOL with_token, CK_SLOT_ID *slots, CK_ULONG *count)
{
	if (is_gone() && with_token) {
		*count = 0;
		return CKR_OK;
	}
	return real.C_GetSlotList(with_token, slots, count);
}

static CK_RV get_token_info(CK_SLOT_ID slot, CK_TOKEN_INFO *info)
{
	return is_gone() ? CKR_TOKEN_NOT_PRESENT : real.C_GetTokenInfo(slot, info);
}

static CK_RV open_session(CK_SLOT_ID slot, CK_FLAGS flags, void *app, CK_NOTIFY notify, CK_SESSION_HANDLE *session)
{
	if (is_gone()) {
		return CKR_TOKEN_NOT_PRESENT;
	}
	CK_RV result = real.C_OpenSession(slot, flags, app, notify, session);
	if (result == CKR_OK) {
		made_by[*session % SESSIONS] = 0;
	}
	return result;
}

static CK_RV sign_init(CK_SESSION_HANDLE session, CK_MECHANISM *mechanism, CK_OBJECT_HANDLE key)
{
	return is_gone() ? CKR_DEVICE_REMOVED : real.C_SignInit(session, mechanism, key);
}

static CK_RV sign(CK_SESSION_HANDLE session, CK_BYTE *data, CK_ULONG len, CK_BYTE *signature, CK_ULONG *signature_len)
{
	if (is_gone()) {
		return CKR_DEVICE_REMOVED;
	}
	long limit = limit_of("lies");
	for (long left = limit_of("stalls"); left >= 0 && made >= left; left = limit_of("stalls")) {
		usleep(10000);
	}
	made++;
	CK_RV result = real.C_Sign(session, data, len, signature, signature_len);
	if (result == CKR_OK && signature != NULL && limit >= 0 && made_by[session % SESSIONS]++ >= limit) {
		signature[*signature_len / 2] ^= 1;
	}
	return result;
}

CK_RV C_GetFunctionList(CK_FUNCTION_LIST **ret_list)
{
	CK_C_GetFunctionList get;
	CK_FUNCTION_LIST *list;
	void *module = dlopen("/usr/lib/softhsm/libsofthsm2.so", RTLD_NOW);
	*(void **)&get = module != NULL ? dlsym(module, "C_GetFunctionList") : NULL;
	if (get == NULL || get(&list) != CKR_OK) {
		return CKR_GENERAL_ERROR;
	}
	real = shown = *list;
	shown.C_GetSlotList = get_slot_list;
	shown.C_GetTokenInfo = get_token_info;
	shown.C_OpenSession = open_session;
	shown.C_SignInit = sign_init;
	shown.C_Sign = sign;
	shown.C_FindObjectsInit = find_objects_init;
	shown.C_CreateObject = create_object;
	*ret_list = &shown;
	return CKR_OK;
}
