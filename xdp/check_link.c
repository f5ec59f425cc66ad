/* SPDX-License-Identifier: BSD-2-Clause */
/* The interface: what it is, what its driver can, and what is set in a way that XDP doesn't like. */
#include "xdp/check_rows.h"
#include "xdp/features.h"

#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <ifaddrs.h>
#include <linux/ethtool.h>
#include <linux/if_arp.h>
#include <linux/magic.h>
#include <linux/sockios.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/vfs.h>
#include <unistd.h>

enum {
	MTU_NATIVE_MAX = 3498, /* a page without headroom and the kernel's footer: what most drivers take */
	ANSWER_MTU_MAX = KXDP_FRAME_SIZE - 256 - 14, /* what one of our frames holds */
	FEATURES_MAX = 256,
	RING_LOW = 512,
};

/* ---- What it is ---- */

static void check_interface(check_t *check)
{
	char advice[64];
	snprintf(advice, sizeof(advice), "ip link set dev %s up", check->ifname);
	if (check->link.type != ARPHRD_ETHER && check->link.type != ARPHRD_LOOPBACK) {
		kxdp_find(check, "interface", KXDP_CHECK_ERROR, "listen on the Ethernet interface that carries it",
				"%s is not Ethernet (hardware type %u)", check->ifname, check->link.type);
	} else if ((check->link.flags & IFF_UP) == 0) {
		kxdp_find(check, "interface", KXDP_CHECK_WARNING, advice, "%s is down", check->ifname);
	} else if ((check->link.flags & IFF_RUNNING) == 0) {
		kxdp_find(check, "interface", KXDP_CHECK_WARNING, "look at the cable, or at the other end",
				"%s is up without a carrier", check->ifname);
	} else {
		kxdp_find(check, "interface", KXDP_CHECK_OK, NULL, "%s is up", check->ifname);
	}
}

/* Kinds of software devices. Hardware has none. */
static const struct {
	const char *kind;
	kxdp_severity_t severity;
	const char *text, *advice;
} kinds[] = {
	{ "bond", KXDP_CHECK_WARNING, "a bond: emulated mode only", "listen on the bond's ports instead, all of them" },
	{ "team", KXDP_CHECK_WARNING, "a team: emulated mode only", "listen on the team's ports instead, all of them" },
	{ "bridge", KXDP_CHECK_WARNING, "a bridge: emulated mode only",
			"listen on the port that queries come in by, if it may keep the server's addresses" },
	{ "vlan", KXDP_CHECK_WARNING, "a VLAN: emulated mode only",
			"listen on the interface below, by address: tagged queries get tagged replies" },
	{ "macvlan", KXDP_CHECK_WARNING, "a macvlan: emulated mode only", "listen on the interface below" },
	{ "ipvlan", KXDP_CHECK_WARNING, "an ipvlan: emulated mode only", "listen on the interface below" },
	{ "dummy", KXDP_CHECK_WARNING, "a dummy: no packet ever arrives",
			"listen on the interface that queries come in by" },
	{ "ifb", KXDP_CHECK_WARNING, "an ifb: packets arrive behind the kernel's work",
			"listen on the real interface" },
	{ "veth", KXDP_CHECK_OK, "a veth: native mode, always copies", NULL },
	{ "tun", KXDP_CHECK_OK, "a tap: native mode, always copies", NULL },
	{ "netkit", KXDP_CHECK_WARNING, "a netkit: emulated mode only", NULL },
};

static void check_kind(check_t *check)
{
	const char *kind = check->link.kind;
	for (size_t i = 0; i < KNOT_LEN(kinds); i++) {
		if (strcmp(kinds[i].kind, kind) == 0) {
			kxdp_find(check, "kind", kinds[i].severity, kinds[i].advice, "%s", kinds[i].text);
			return;
		}
	}
	if ((check->link.flags & IFF_LOOPBACK) != 0) {
		kxdp_find(check, "kind", KXDP_CHECK_WARNING, "good for tests only", "loopback: emulated mode only");
	} else if (kind[0] != '\0') {
		kxdp_find(check, "kind", KXDP_CHECK_WARNING, "listen on the interface below, if there is one",
				"a device of kind %s: probably emulated mode only", kind);
	} else {
		kxdp_find(check, "kind", KXDP_CHECK_OK, NULL, "a network card");
	}
}

static void check_upper(check_t *check)
{
	char name[IF_NAMESIZE] = "";
	if (check->link.upper == 0 || if_indextoname(check->link.upper, name) == NULL) {
		return;
	}
	bool is_bond = strcmp(check->link.upper_kind, "bond") == 0;
	kxdp_find(check, "upper", is_bond ? KXDP_CHECK_OK : KXDP_CHECK_WARNING,
			is_bond ? "use every port of the bond"
				: "name the server's addresses in xdp.listen, not only the interface",
			"port of the %s %s: its addresses are there, not here",
			check->link.upper_kind[0] != '\0' ? check->link.upper_kind : "device", name);
}

static void check_addresses(check_t *check)
{
	struct ifaddrs *all;
	unsigned v4 = 0, v6 = 0;
	if (getifaddrs(&all) != 0) {
		return;
	}
	for (const struct ifaddrs *i = all; i != NULL; i = i->ifa_next) {
		if (i->ifa_addr != NULL && strcmp(i->ifa_name, check->ifname) == 0) {
			v4 += i->ifa_addr->sa_family == AF_INET;
			v6 += i->ifa_addr->sa_family == AF_INET6;
		}
	}
	freeifaddrs(all);
	if (v4 + v6 == 0) {
		kxdp_find(check, "addresses", KXDP_CHECK_WARNING,
				"ip address add …; or name addresses in xdp.listen that are routed here", "no address");
	} else {
		kxdp_find(check, "addresses", KXDP_CHECK_OK, NULL, "%u IPv4, %u IPv6", v4, v6);
	}
}

/* ---- What the driver can ---- */

static void check_driver(check_t *check)
{
	const char *driver = check->device.driver;
	kxdp_find(check, "driver", KXDP_CHECK_OK, NULL, "%s", driver[0] != '\0' ? driver : "none that says its name");
	kxdp_features_t features;
	if (!kxdp_features_query(check->device.index, &features)) {
		kxdp_find(check, "mode", KXDP_CHECK_OK, "see the log when knotd starts: \"native\" or \"emulated\"",
				"this kernel doesn't tell what drivers can (Linux 6.3 does)");
	} else if (!features.native || !features.redirect) {
		kxdp_find(check, "mode", KXDP_CHECK_WARNING, "use a card whose driver has XDP",
				"emulated: the driver has no XDP%s", features.native ? " redirection" : "");
	} else if (!features.zero_copy) {
		kxdp_find(check, "mode", KXDP_CHECK_OK, NULL, "native/copy: the driver has no zero copy");
	} else {
		kxdp_find(check, "mode", KXDP_CHECK_OK, NULL, "native, zero copy");
	}
}

static bool ethtool(const check_t *check, void *request)
{
	struct ifreq ifr = { .ifr_data = request };
	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", check->ifname);
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool done = fd >= 0 && ioctl(fd, SIOCETHTOOL, &ifr) == 0;
	if (fd >= 0) {
		close(fd);
	}
	return done;
}

static void check_channels(check_t *check)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	unsigned now = check->device.queue_count, max = check->device.queue_max;
	char advice[96];
	snprintf(advice, sizeof(advice), "ethtool -L %s combined %u", check->ifname,
			max < (unsigned)cpus ? max : (unsigned)cpus);
	bool fewer_fit = now < max && now < (unsigned)cpus;
	if (now > (unsigned)cpus) {
		kxdp_find(check, "channels", KXDP_CHECK_WARNING, advice,
				"%u receive queues for %ld CPUs: a worker each, they will share CPUs", now, cpus);
	} else {
		kxdp_find(check, "channels", KXDP_CHECK_OK, fewer_fit ? advice : NULL,
				"%u receive queues of at most %u, %ld CPUs", now, max, cpus);
	}
}

static void check_rings(check_t *check)
{
	struct ethtool_ringparam rings = { .cmd = ETHTOOL_GRINGPARAM };
	if (!ethtool(check, &rings) || rings.rx_max_pending == 0) {
		return; /* software devices have none */
	}
	unsigned best = rings.rx_max_pending < 2048 ? rings.rx_max_pending : 2048;
	char advice[96];
	snprintf(advice, sizeof(advice), "against losses in bursts: ethtool -G %s rx %u", check->ifname, best);
	bool low = rings.rx_pending < RING_LOW && rings.rx_pending < rings.rx_max_pending;
	kxdp_find(check, "rings", low ? KXDP_CHECK_WARNING : KXDP_CHECK_OK, low ? advice : NULL,
			"receive ring %u of at most %u, send ring %u of at most %u", rings.rx_pending,
			rings.rx_max_pending, rings.tx_pending, rings.tx_max_pending);
}

/* ---- What is set ---- */

/* Numbers of the device's features by name, and which are on. */
typedef struct {
	char (*names)[ETH_GSTRING_LEN]; /* owned */
	uint32_t count;
	union {
		struct ethtool_gfeatures header; /* ends in an array of blocks */
		uint8_t room[sizeof(struct ethtool_gfeatures) +
				FEATURES_MAX / 32 * sizeof(struct ethtool_get_features_block)];
	} set;
} features_t;

static bool get_features(const check_t *check, features_t *f)
{
	union {
		struct ethtool_sset_info header; /* ends in an array of counts */
		uint8_t room[sizeof(struct ethtool_sset_info) + sizeof(uint32_t)];
	} info = { .header = { .cmd = ETHTOOL_GSSET_INFO, .sset_mask = 1ULL << ETH_SS_FEATURES } };
	if (!ethtool(check, &info) || info.header.sset_mask == 0) {
		return false;
	}
	const uint32_t count = info.header.data[0];
	if (count == 0 || count > FEATURES_MAX) {
		return false;
	}
	struct ethtool_gstrings *strings = calloc(1, sizeof(*strings) + (size_t)count * ETH_GSTRING_LEN);
	if (strings == NULL) {
		return false;
	}
	*strings = (struct ethtool_gstrings){ .cmd = ETHTOOL_GSTRINGS, .string_set = ETH_SS_FEATURES, .len = count };
	f->set.header = (struct ethtool_gfeatures){ .cmd = ETHTOOL_GFEATURES, .size = (count + 31) / 32 };
	f->names = calloc(count, sizeof(*f->names));
	bool done = f->names != NULL && ethtool(check, strings) && ethtool(check, &f->set);
	if (done) {
		memcpy(f->names, strings->data, (size_t)count * ETH_GSTRING_LEN);
		f->count = count;
	}
	free(strings);
	return done;
}

static bool is_on(const features_t *f, const char *name)
{
	for (uint32_t i = 0; i < f->count; i++) {
		if (strncmp(f->names[i], name, ETH_GSTRING_LEN) == 0) {
			return (f->set.header.features[i / 32].active >> i % 32 & 1) != 0;
		}
	}
	return false;
}

static bool has_vlans(const check_t *check)
{
	struct if_nameindex *all = if_nameindex();
	bool found = false;
	for (const struct if_nameindex *i = all; i != NULL && i->if_index != 0 && !found; i++) {
		kxdp_link_t link;
		found = kxdp_link_query(i->if_index, &link) && link.lower == check->device.index &&
			strcmp(link.kind, "vlan") == 0;
	}
	if (all != NULL) {
		if_freenameindex(all);
	}
	return found;
}

static void check_offloads(check_t *check)
{
	static const struct {
		const char *name, *option, *text;
		bool with_vlans; /* matters only then */
	} rows[] = {
		{ "rx-lro", "lro", "large receive offload joins packets: most drivers refuse XDP", false },
		{ "rx-gro-hw", "rx-gro-hw", "the card joins packets (GRO): some drivers refuse XDP", false },
		{ "rx-vlan-hw-parse", "rxvlan", "the card takes VLAN tags away, which replies need", true },
	};
	features_t f = { 0 };
	bool known = get_features(check, &f), any = false;
	for (size_t i = 0; known && i < KNOT_LEN(rows); i++) {
		if (is_on(&f, rows[i].name) && (!rows[i].with_vlans || has_vlans(check))) {
			char advice[64];
			snprintf(advice, sizeof(advice), "ethtool -K %s %s off", check->ifname, rows[i].option);
			kxdp_find(check, "offloads", KXDP_CHECK_WARNING, advice, "%s", rows[i].text);
			any = true;
		}
	}
	free(f.names);
	if (known && !any) {
		kxdp_find(check, "offloads", KXDP_CHECK_OK, NULL, "none in the way");
	}
}

static void check_mtu(check_t *check)
{
	unsigned mtu = check->device.mtu;
	char advice[64];
	snprintf(advice, sizeof(advice), "ip link set dev %s mtu 1500", check->ifname);
	if (mtu > MTU_NATIVE_MAX && (check->link.flags & IFF_LOOPBACK) == 0) {
		kxdp_find(check, "mtu", KXDP_CHECK_WARNING, advice, "%u: most drivers refuse native mode above %d", mtu,
				MTU_NATIVE_MAX);
	} else if (mtu > ANSWER_MTU_MAX) {
		kxdp_find(check, "mtu", KXDP_CHECK_OK, NULL,
				"%u: frames above %d bytes go to ordinary sockets, answers are no larger", mtu,
				ANSWER_MTU_MAX);
	} else {
		kxdp_find(check, "mtu", KXDP_CHECK_OK, NULL, "%u", mtu);
	}
}

/* ---- Other programs on the interface ---- */

static bool program_name(uint32_t id, char ret_name[static BPF_OBJ_NAME_LEN])
{
	int fd = bpf_prog_get_fd_by_id(id);
	struct bpf_prog_info info = { 0 };
	uint32_t len = sizeof(info);
	bool known = fd >= 0 && bpf_obj_get_info_by_fd(fd, &info, &len) == 0;
	if (known) {
		memcpy(ret_name, info.name, sizeof(info.name));
	}
	if (fd >= 0) {
		close(fd);
	}
	return known;
}

static void check_programs(check_t *check)
{
	LIBBPF_OPTS(bpf_xdp_query_opts, query);
	if (bpf_xdp_query((int)check->device.index, 0, &query) != 0) {
		return;
	}
	const uint32_t ids[] = { query.drv_prog_id, query.skb_prog_id, query.hw_prog_id };
	uint32_t id = 0;
	for (size_t i = 0; i < KNOT_LEN(ids) && id == 0; i++) {
		id = ids[i];
	}
	char name[BPF_OBJ_NAME_LEN] = "", advice[96];
	snprintf(advice, sizeof(advice), "stop its owner, or: ip link set dev %s xdp off", check->ifname);
	struct statfs files;
	if (id == 0) {
		kxdp_find(check, "xdp-programs", KXDP_CHECK_OK, NULL, "none attached");
	} else if (!program_name(id, name)) {
		kxdp_find(check, "xdp-programs", KXDP_CHECK_WARNING, advice,
				"a program (id %u) is attached; its name can't be seen without CAP_SYS_ADMIN", id);
	} else if (strcmp(name, "bowline_filter") == 0) {
		kxdp_find(check, "xdp-programs", KXDP_CHECK_OK, NULL, "Bowline's own is attached: a server is running");
	} else if (strcmp(name, "xdp_redirect_dn") == 0) {
		kxdp_find(check, "xdp-programs", KXDP_CHECK_WARNING,
				"stop Knot DNS; what it leaves attached is removed", "that of Knot DNS is attached");
	} else if (strcmp(name, "xdp_dispatcher") != 0) {
		kxdp_find(check, "xdp-programs", KXDP_CHECK_ERROR, advice, "%s (id %u) is attached", name, id);
	} else if (statfs("/sys/fs/bpf", &files) != 0 || files.f_type != (__fsword_t)BPF_FS_MAGIC) {
		kxdp_find(check, "xdp-programs", KXDP_CHECK_ERROR, "mount -t bpf bpf /sys/fs/bpf",
				"libxdp's dispatcher is attached, joining it needs the BPF file system");
	} else {
		kxdp_find(check, "xdp-programs", KXDP_CHECK_OK, NULL,
				"libxdp's dispatcher is attached: Bowline joins it");
	}
}

const check_fn_t kxdp_check_link[] = {
	check_interface,
	check_kind,
	check_upper,
	check_addresses,
	check_driver,
	check_channels,
	check_rings,
	check_offloads,
	check_mtu,
	check_programs,
};
const size_t kxdp_check_link_count = KNOT_LEN(kxdp_check_link);
