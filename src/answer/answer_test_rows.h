/* SPDX-License-Identifier: BSD-2-Clause */
/* Zones of answer_test.c and what Knot DNS 3.2.6 answers from them. Signatures are not real: nothing looks at them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

static const char zone_ex[] =
		"$ORIGIN ex.\n"
		"$TTL 3600\n"
		"@ SOA ns1 admin 1 7200 3600 86400 300\n"
		"@ NS ns1\n"
		"@ NS ns2.sub\n"
		"@ NS ns.other.\n"
		"@ MX 10 mail\n"
		"@ MX 20 mail.other.\n"
		"ns1 A 192.0.2.1\n"
		"ns1 AAAA 2001:db8::1\n"
		"mail A 192.0.2.2\n"
		"www CNAME web\n"
		"web A 192.0.2.3\n"
		"web AAAA 2001:db8::3\n"
		"web TXT \"t\"\n"
		"c1 CNAME c2\n"
		"c2 CNAME c3\n"
		"c3 CNAME c4\n"
		"c4 CNAME c5\n"
		"c5 CNAME c6\n"
		"c6 CNAME c7\n"
		"c7 CNAME c8\n"
		"c8 A 192.0.2.8\n"
		"loop1 CNAME loop2\n"
		"loop2 CNAME loop1\n"
		"self CNAME self\n"
		"cout CNAME www.other.\n"
		"cnx CNAME nonexist\n"
		"ccut CNAME host.sub\n"
		"cwild CNAME foo.wild\n"
		"cd CNAME a.dn\n"
		"dn DNAME web\n"
		"dn TXT \"dname owner\"\n"
		"dnout DNAME other.\n"
		"dnself DNAME x.dnself\n"
		"dnchain DNAME dn2\n"
		"dn2 DNAME dn3\n"
		"x.dn3 A 192.0.2.33\n"
		"dnwild DNAME wild\n"
		"*.wild A 192.0.2.4\n"
		"*.wild TXT \"wild\"\n"
		"*.wc CNAME web\n"
		"*.wcx CNAME y.wcx\n"
		"*.wcl CNAME z.wild\n"
		"*.wmx MX 10 mail\n"
		"*.wmx MX 20 x.y\n"
		"a.went.x A 192.0.2.44\n"
		"*.wns NS ns.wns\n"
		"*.wds DNAME web\n"
		"a.b.ent A 192.0.2.5\n"
		"sub NS ns.sub\n"
		"sub NS ns1\n"
		"sub NS ns.other.\n"
		"sub NS ns.sub2\n"
		"ns.sub A 192.0.2.6\n"
		"ns.sub AAAA 2001:db8::6\n"
		"ns2.sub A 192.0.2.61\n"
		"sub2 NS ns.sub2\n"
		"sub2 NS ns.sub\n"
		"sub2 DS 12345 13 2 AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\n"
		"ns.sub2 A 192.0.2.7\n"
		"sub3 NS ns.other.\n"
		"child NS ns.child\n"
		"ns.child A 192.0.2.77\n"
		"child DS 1 13 2 AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\n"
		"sibling NS ns.sub\n"
		"_sip._tcp SRV 1 2 3 mail\n"
		"_sip._tcp SRV 1 2 3 www\n"
		"_sip._tcp SRV 1 2 3 host.sub\n"
		"_sip._tcp SRV 1 2 3 w.wild\n"
		"svc SVCB 0 svc2\n"
		"svc2 SVCB 1 web\n"
		"svc3 SVCB 1 .\n"
		"svc3 A 192.0.2.9\n"
		"h HTTPS 0 h2\n"
		"h2 HTTPS 1 web\n"
		"h2 HTTPS 2 mail\n"
		"ptr PTR web\n"
		"kx KX 1 mail\n"
		"mxwild MX 10 q.wild\n"
		"mxcname MX 10 www\n"
		"mxdelg MX 10 ns.sub\n"
		/* A referral that fits into 512 bytes only when its server is compressed against the question. */
		"fit NS a.ccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc.fit\n"
		"a.ccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc.fit A 10.1.0.1\n"
		"a.ccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc.fit AAAA 2001:db8::f1\n"
		"fit NS ddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd.other.\n"
		"fit NS eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee.other.\n"
		"fit NS fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff.other.\n"
		"fit NS ggggggggggggggggggggggggggggggggggggggggggggggggggggggggggggggg.other.\n"
		"big NS ns0.big\n"
		"ns0.big A 10.0.0.0\n"
		"ns0.big AAAA 2001:db8::1\n"
		"big NS ns1.big\n"
		"ns1.big A 10.0.0.1\n"
		"ns1.big AAAA 2001:db8::2\n"
		"big NS ns2.big\n"
		"ns2.big A 10.0.0.2\n"
		"ns2.big AAAA 2001:db8::3\n"
		"big NS ns3.big\n"
		"ns3.big A 10.0.0.3\n"
		"ns3.big AAAA 2001:db8::4\n"
		"big NS ns4.big\n"
		"ns4.big A 10.0.0.4\n"
		"ns4.big AAAA 2001:db8::5\n"
		"big NS ns5.big\n"
		"ns5.big A 10.0.0.5\n"
		"ns5.big AAAA 2001:db8::6\n"
		"big NS ns6.big\n"
		"ns6.big A 10.0.0.6\n"
		"ns6.big AAAA 2001:db8::7\n"
		"big NS ns7.big\n"
		"ns7.big A 10.0.0.7\n"
		"ns7.big AAAA 2001:db8::8\n"
		"big NS ns8.big\n"
		"ns8.big A 10.0.0.8\n"
		"ns8.big AAAA 2001:db8::9\n"
		"big NS ns9.big\n"
		"ns9.big A 10.0.0.9\n"
		"ns9.big AAAA 2001:db8::a\n"
		"big NS ns10.big\n"
		"ns10.big A 10.0.0.10\n"
		"ns10.big AAAA 2001:db8::b\n"
		"big NS ns11.big\n"
		"ns11.big A 10.0.0.11\n"
		"ns11.big AAAA 2001:db8::c\n"
		"big NS ns12.big\n"
		"ns12.big A 10.0.0.12\n"
		"ns12.big AAAA 2001:db8::d\n"
		"big NS ns13.big\n"
		"ns13.big A 10.0.0.13\n"
		"ns13.big AAAA 2001:db8::e\n";

static const char zone_child_ex[] = "$ORIGIN child.ex.\n"
				    "$TTL 3600\n"
				    "@ SOA ns admin 1 7200 3600 86400 300\n"
				    "@ NS ns\n"
				    "ns A 192.0.2.77\n";

static const char zone_nsec[] = "$ORIGIN nsec.\n"
				"$TTL 3600\n"
				"@ SOA ns h.nsec. 7 7200 3600 86400 300\n"
				"@ NS ns.nsec.\n"
				"@ MX 10 web.nsec.\n"
				"@ DNSKEY 257 3 13 AAAA\n"
				"cnx CNAME nope.nsec.\n"
				"cw CNAME x.wild.nsec.\n"
				"dn DNAME ent.nsec.\n"
				"a.b.ent A 192.0.2.5\n"
				"sub.entcut NS ns.other.\n"
				"ns A 192.0.2.1\n"
				"sec NS ns.nsec.\n"
				"sec DS 1 13 2 AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\n"
				"sub NS ns.sub.nsec.\n"
				"ns.sub A 192.0.2.6\n"
				"svc SVCB 1 web.nsec.\n"
				"svc0 SVCB 0 svc.nsec.\n"
				"*.wc CNAME web.nsec.\n"
				"web A 192.0.2.3\n"
				"web AAAA 2001:db8::3\n"
				"*.wild A 192.0.2.4\n"
				"*.wild TXT \"w\"\n"
				"www CNAME web.nsec.\n"
				"@ RRSIG NS 13 1 3600 20380101000000 20200101000000 1 nsec. AAAA\n"
				"@ RRSIG SOA 13 1 3600 20380101000000 20200101000000 1 nsec. AAAA\n"
				"@ RRSIG MX 13 1 3600 20380101000000 20200101000000 1 nsec. AAAA\n"
				"@ 300 RRSIG NSEC 13 1 300 20380101000000 20200101000000 1 nsec. AAAA\n"
				"@ RRSIG DNSKEY 13 1 3600 20380101000000 20200101000000 1 nsec. AAAA\n"
				"cnx RRSIG CNAME 13 2 3600 20380101000000 20200101000000 1 nsec. AAAA\n"
				"cnx 300 RRSIG NSEC 13 2 300 20380101000000 20200101000000 1 nsec. AAAA\n"
				"cw RRSIG CNAME 13 2 3600 20380101000000 20200101000000 1 nsec. AAAA\n"
				"cw 300 RRSIG NSEC 13 2 300 20380101000000 20200101000000 1 nsec. AAAA\n"
				"dn RRSIG DNAME 13 2 3600 20380101000000 20200101000000 1 nsec. AAAA\n"
				"dn 300 RRSIG NSEC 13 2 300 20380101000000 20200101000000 1 nsec. AAAA\n"
				"a.b.ent RRSIG A 13 4 3600 20380101000000 20200101000000 1 nsec. AAAA\n"
				"a.b.ent 300 RRSIG NSEC 13 4 300 20380101000000 20200101000000 1 nsec. AAAA\n"
				"sub.entcut 300 RRSIG NSEC 13 3 300 20380101000000 20200101000000 1 nsec. AAAA\n"
				"ns RRSIG A 13 2 3600 20380101000000 20200101000000 1 nsec. AAAA\n"
				"ns 300 RRSIG NSEC 13 2 300 20380101000000 20200101000000 1 nsec. AAAA\n"
				"sec RRSIG DS 13 2 3600 20380101000000 20200101000000 1 nsec. AAAA\n"
				"sec 300 RRSIG NSEC 13 2 300 20380101000000 20200101000000 1 nsec. AAAA\n"
				"sub 300 RRSIG NSEC 13 2 300 20380101000000 20200101000000 1 nsec. AAAA\n"
				"svc 300 RRSIG NSEC 13 2 300 20380101000000 20200101000000 1 nsec. AAAA\n"
				"svc RRSIG SVCB 13 2 3600 20380101000000 20200101000000 1 nsec. AAAA\n"
				"svc0 300 RRSIG NSEC 13 2 300 20380101000000 20200101000000 1 nsec. AAAA\n"
				"svc0 RRSIG SVCB 13 2 3600 20380101000000 20200101000000 1 nsec. AAAA\n"
				"*.wc RRSIG CNAME 13 2 3600 20380101000000 20200101000000 1 nsec. AAAA\n"
				"*.wc 300 RRSIG NSEC 13 2 300 20380101000000 20200101000000 1 nsec. AAAA\n"
				"web RRSIG A 13 2 3600 20380101000000 20200101000000 1 nsec. AAAA\n"
				"web RRSIG AAAA 13 2 3600 20380101000000 20200101000000 1 nsec. AAAA\n"
				"web 300 RRSIG NSEC 13 2 300 20380101000000 20200101000000 1 nsec. AAAA\n"
				"*.wild RRSIG A 13 2 3600 20380101000000 20200101000000 1 nsec. AAAA\n"
				"*.wild RRSIG TXT 13 2 3600 20380101000000 20200101000000 1 nsec. AAAA\n"
				"*.wild 300 RRSIG NSEC 13 2 300 20380101000000 20200101000000 1 nsec. AAAA\n"
				"www RRSIG CNAME 13 2 3600 20380101000000 20200101000000 1 nsec. AAAA\n"
				"www 300 RRSIG NSEC 13 2 300 20380101000000 20200101000000 1 nsec. AAAA\n"
				"@ 300 NSEC cnx NS SOA MX RRSIG NSEC DNSKEY\n"
				"cnx 300 NSEC cw.nsec. CNAME RRSIG NSEC\n"
				"cw 300 NSEC dn.nsec. CNAME RRSIG NSEC\n"
				"dn 300 NSEC a.b.ent.nsec. DNAME RRSIG NSEC\n"
				"a.b.ent 300 NSEC sub.entcut.nsec. A RRSIG NSEC\n"
				"sub.entcut 300 NSEC ns.nsec. NS RRSIG NSEC\n"
				"ns 300 NSEC sec.nsec. A RRSIG NSEC\n"
				"sec 300 NSEC sub.nsec. NS DS RRSIG NSEC\n"
				"sub 300 NSEC svc.nsec. NS RRSIG NSEC\n"
				"svc 300 NSEC svc0.nsec. RRSIG NSEC SVCB\n"
				"svc0 300 NSEC *.wc.nsec. RRSIG NSEC SVCB\n"
				"*.wc 300 NSEC web.nsec. CNAME RRSIG NSEC\n"
				"web 300 NSEC *.wild.nsec. A AAAA RRSIG NSEC\n"
				"*.wild 300 NSEC www.nsec. A TXT RRSIG NSEC\n"
				"www 300 NSEC nsec. CNAME RRSIG NSEC\n";

static const char zone_nsec3[] =
		"$ORIGIN nsec3.\n"
		"$TTL 3600\n"
		"@ SOA ns h.nsec3. 7 7200 3600 86400 300\n"
		"@ NS ns.nsec3.\n"
		"@ MX 10 web.nsec3.\n"
		"@ DNSKEY 257 3 13 AAAA\n"
		"@ 300 NSEC3PARAM 1 0 0 -\n"
		"cnx CNAME nope.nsec3.\n"
		"cw CNAME x.wild.nsec3.\n"
		"dn DNAME ent.nsec3.\n"
		"a.b.ent A 192.0.2.5\n"
		"sub.entcut NS ns.other.\n"
		"ns A 192.0.2.1\n"
		"sec NS ns.nsec3.\n"
		"sec DS 1 13 2 AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\n"
		"sub NS ns.sub.nsec3.\n"
		"ns.sub A 192.0.2.6\n"
		"svc SVCB 1 web.nsec3.\n"
		"svc0 SVCB 0 svc.nsec3.\n"
		"*.wc CNAME web.nsec3.\n"
		"web A 192.0.2.3\n"
		"web AAAA 2001:db8::3\n"
		"*.wild A 192.0.2.4\n"
		"*.wild TXT \"w\"\n"
		"www CNAME web.nsec3.\n"
		"@ RRSIG NS 13 1 3600 20380101000000 20200101000000 1 nsec3. AAAA\n"
		"@ RRSIG SOA 13 1 3600 20380101000000 20200101000000 1 nsec3. AAAA\n"
		"@ RRSIG MX 13 1 3600 20380101000000 20200101000000 1 nsec3. AAAA\n"
		"@ RRSIG DNSKEY 13 1 3600 20380101000000 20200101000000 1 nsec3. AAAA\n"
		"@ 300 RRSIG NSEC3PARAM 13 1 300 20380101000000 20200101000000 1 nsec3. AAAA\n"
		"cnx RRSIG CNAME 13 2 3600 20380101000000 20200101000000 1 nsec3. AAAA\n"
		"cw RRSIG CNAME 13 2 3600 20380101000000 20200101000000 1 nsec3. AAAA\n"
		"dn RRSIG DNAME 13 2 3600 20380101000000 20200101000000 1 nsec3. AAAA\n"
		"a.b.ent RRSIG A 13 4 3600 20380101000000 20200101000000 1 nsec3. AAAA\n"
		"ns RRSIG A 13 2 3600 20380101000000 20200101000000 1 nsec3. AAAA\n"
		"sec RRSIG DS 13 2 3600 20380101000000 20200101000000 1 nsec3. AAAA\n"
		"svc RRSIG SVCB 13 2 3600 20380101000000 20200101000000 1 nsec3. AAAA\n"
		"svc0 RRSIG SVCB 13 2 3600 20380101000000 20200101000000 1 nsec3. AAAA\n"
		"*.wc RRSIG CNAME 13 2 3600 20380101000000 20200101000000 1 nsec3. AAAA\n"
		"web RRSIG A 13 2 3600 20380101000000 20200101000000 1 nsec3. AAAA\n"
		"web RRSIG AAAA 13 2 3600 20380101000000 20200101000000 1 nsec3. AAAA\n"
		"*.wild RRSIG A 13 2 3600 20380101000000 20200101000000 1 nsec3. AAAA\n"
		"*.wild RRSIG TXT 13 2 3600 20380101000000 20200101000000 1 nsec3. AAAA\n"
		"www RRSIG CNAME 13 2 3600 20380101000000 20200101000000 1 nsec3. AAAA\n"
		"1535cj84c5nkpk34rvtronj7h9uued7s 300 NSEC3 1 0 0 - 1pqucd9kathe51pn81304k4ga6n1h0lp CNAME RRSIG\n"
		"1pqucd9kathe51pn81304k4ga6n1h0lp 300 NSEC3 1 0 0 - 2sjfgl90daorb0cbe9jrskfqg7mvipid NS\n"
		"2sjfgl90daorb0cbe9jrskfqg7mvipid 300 NSEC3 1 0 0 - 3rrjesemtuh627kgk4qgon0250128tou A AAAA RRSIG\n"
		"3rrjesemtuh627kgk4qgon0250128tou 300 NSEC3 1 0 0 - 7o01o900q0ieg4u6p88rfivuj16mdpc0 NS SOA MX RRSIG "
		"DNSKEY "
		"NSEC3PARAM\n"
		"7o01o900q0ieg4u6p88rfivuj16mdpc0 300 NSEC3 1 0 0 - 8r3c0hubnivtsunqhkr5u9rb57ilnpvt CNAME RRSIG\n"
		"8r3c0hubnivtsunqhkr5u9rb57ilnpvt 300 NSEC3 1 0 0 - ar090id1vt5ujj7k51lnn7pnnuue16pt NS\n"
		"ar090id1vt5ujj7k51lnn7pnnuue16pt 300 NSEC3 1 0 0 - c34am1u7s9fhugth7rpov0r9cvelhknf\n"
		"c34am1u7s9fhugth7rpov0r9cvelhknf 300 NSEC3 1 0 0 - ektde6m249ld2c0u757aic46g9oaruis DNAME RRSIG\n"
		"ektde6m249ld2c0u757aic46g9oaruis 300 NSEC3 1 0 0 - grjohg79otcoqdeqheavnd8ian7gfs19 A RRSIG\n"
		"grjohg79otcoqdeqheavnd8ian7gfs19 300 NSEC3 1 0 0 - j4r7b4b0chq2rotb6por9mkof25vsohe CNAME RRSIG\n"
		"j4r7b4b0chq2rotb6por9mkof25vsohe 300 NSEC3 1 0 0 - krct6t8i7bh37t6unguen4e92g7rsr4a\n"
		"krct6t8i7bh37t6unguen4e92g7rsr4a 300 NSEC3 1 0 0 - nubsd2bnm7n9fhj7pus4uqutarh38bca\n"
		"nubsd2bnm7n9fhj7pus4uqutarh38bca 300 NSEC3 1 0 0 - q0i6p9u04hf2r5j8v867g4d8614330ea RRSIG SVCB\n"
		"q0i6p9u04hf2r5j8v867g4d8614330ea 300 NSEC3 1 0 0 - ri3rat0ph6116gi38ib2b3203d25hhbo A TXT RRSIG\n"
		"ri3rat0ph6116gi38ib2b3203d25hhbo 300 NSEC3 1 0 0 - sijk2la1f9n9s6s9sdv5o3dm3ar0trnj CNAME RRSIG\n"
		"sijk2la1f9n9s6s9sdv5o3dm3ar0trnj 300 NSEC3 1 0 0 - su9gfnvddl025ecec72kecv1ts1sajel RRSIG SVCB\n"
		"su9gfnvddl025ecec72kecv1ts1sajel 300 NSEC3 1 0 0 - tnct8qe73pnsonrg2s12j71iljndpnej\n"
		"tnct8qe73pnsonrg2s12j71iljndpnej 300 NSEC3 1 0 0 - valor037iqkh91krk6p6df034s0508uu A RRSIG\n"
		"valor037iqkh91krk6p6df034s0508uu 300 NSEC3 1 0 0 - vlc1vvd8qv1nc4ve54s5v9eot76k3j3k\n"
		"vlc1vvd8qv1nc4ve54s5v9eot76k3j3k 300 NSEC3 1 0 0 - 1535cj84c5nkpk34rvtronj7h9uued7s NS DS RRSIG\n"
		"1535cj84c5nkpk34rvtronj7h9uued7s 300 RRSIG NSEC3 13 2 300 20380101000000 20200101000000 1 nsec3. "
		"AAAA\n"
		"1pqucd9kathe51pn81304k4ga6n1h0lp 300 RRSIG NSEC3 13 2 300 20380101000000 20200101000000 1 nsec3. "
		"AAAA\n"
		"2sjfgl90daorb0cbe9jrskfqg7mvipid 300 RRSIG NSEC3 13 2 300 20380101000000 20200101000000 1 nsec3. "
		"AAAA\n"
		"3rrjesemtuh627kgk4qgon0250128tou 300 RRSIG NSEC3 13 2 300 20380101000000 20200101000000 1 nsec3. "
		"AAAA\n"
		"7o01o900q0ieg4u6p88rfivuj16mdpc0 300 RRSIG NSEC3 13 2 300 20380101000000 20200101000000 1 nsec3. "
		"AAAA\n"
		"8r3c0hubnivtsunqhkr5u9rb57ilnpvt 300 RRSIG NSEC3 13 2 300 20380101000000 20200101000000 1 nsec3. "
		"AAAA\n"
		"ar090id1vt5ujj7k51lnn7pnnuue16pt 300 RRSIG NSEC3 13 2 300 20380101000000 20200101000000 1 nsec3. "
		"AAAA\n"
		"c34am1u7s9fhugth7rpov0r9cvelhknf 300 RRSIG NSEC3 13 2 300 20380101000000 20200101000000 1 nsec3. "
		"AAAA\n"
		"ektde6m249ld2c0u757aic46g9oaruis 300 RRSIG NSEC3 13 2 300 20380101000000 20200101000000 1 nsec3. "
		"AAAA\n"
		"grjohg79otcoqdeqheavnd8ian7gfs19 300 RRSIG NSEC3 13 2 300 20380101000000 20200101000000 1 nsec3. "
		"AAAA\n"
		"j4r7b4b0chq2rotb6por9mkof25vsohe 300 RRSIG NSEC3 13 2 300 20380101000000 20200101000000 1 nsec3. "
		"AAAA\n"
		"krct6t8i7bh37t6unguen4e92g7rsr4a 300 RRSIG NSEC3 13 2 300 20380101000000 20200101000000 1 nsec3. "
		"AAAA\n"
		"nubsd2bnm7n9fhj7pus4uqutarh38bca 300 RRSIG NSEC3 13 2 300 20380101000000 20200101000000 1 nsec3. "
		"AAAA\n"
		"q0i6p9u04hf2r5j8v867g4d8614330ea 300 RRSIG NSEC3 13 2 300 20380101000000 20200101000000 1 nsec3. "
		"AAAA\n"
		"ri3rat0ph6116gi38ib2b3203d25hhbo 300 RRSIG NSEC3 13 2 300 20380101000000 20200101000000 1 nsec3. "
		"AAAA\n"
		"sijk2la1f9n9s6s9sdv5o3dm3ar0trnj 300 RRSIG NSEC3 13 2 300 20380101000000 20200101000000 1 nsec3. "
		"AAAA\n"
		"su9gfnvddl025ecec72kecv1ts1sajel 300 RRSIG NSEC3 13 2 300 20380101000000 20200101000000 1 nsec3. "
		"AAAA\n"
		"tnct8qe73pnsonrg2s12j71iljndpnej 300 RRSIG NSEC3 13 2 300 20380101000000 20200101000000 1 nsec3. "
		"AAAA\n"
		"valor037iqkh91krk6p6df034s0508uu 300 RRSIG NSEC3 13 2 300 20380101000000 20200101000000 1 nsec3. "
		"AAAA\n"
		"vlc1vvd8qv1nc4ve54s5v9eot76k3j3k 300 RRSIG NSEC3 13 2 300 20380101000000 20200101000000 1 nsec3. "
		"AAAA\n";

static const char zone_optout[] =
		"$ORIGIN optout.\n"
		"$TTL 3600\n"
		"@ SOA ns h.optout. 7 7200 3600 86400 300\n"
		"@ NS ns.optout.\n"
		"@ MX 10 web.optout.\n"
		"@ DNSKEY 257 3 13 AAAA\n"
		"@ 300 NSEC3PARAM 1 0 0 -\n"
		"cnx CNAME nope.optout.\n"
		"cw CNAME x.wild.optout.\n"
		"dn DNAME ent.optout.\n"
		"a.b.ent A 192.0.2.5\n"
		"sub.entcut NS ns.other.\n"
		"ns A 192.0.2.1\n"
		"sec NS ns.optout.\n"
		"sec DS 1 13 2 AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\n"
		"sub NS ns.sub.optout.\n"
		"ns.sub A 192.0.2.6\n"
		"svc SVCB 1 web.optout.\n"
		"svc0 SVCB 0 svc.optout.\n"
		"*.wc CNAME web.optout.\n"
		"web A 192.0.2.3\n"
		"web AAAA 2001:db8::3\n"
		"*.wild A 192.0.2.4\n"
		"*.wild TXT \"w\"\n"
		"www CNAME web.optout.\n"
		"@ RRSIG NS 13 1 3600 20380101000000 20200101000000 1 optout. AAAA\n"
		"@ RRSIG SOA 13 1 3600 20380101000000 20200101000000 1 optout. AAAA\n"
		"@ RRSIG MX 13 1 3600 20380101000000 20200101000000 1 optout. AAAA\n"
		"@ RRSIG DNSKEY 13 1 3600 20380101000000 20200101000000 1 optout. AAAA\n"
		"@ 300 RRSIG NSEC3PARAM 13 1 300 20380101000000 20200101000000 1 optout. AAAA\n"
		"cnx RRSIG CNAME 13 2 3600 20380101000000 20200101000000 1 optout. AAAA\n"
		"cw RRSIG CNAME 13 2 3600 20380101000000 20200101000000 1 optout. AAAA\n"
		"dn RRSIG DNAME 13 2 3600 20380101000000 20200101000000 1 optout. AAAA\n"
		"a.b.ent RRSIG A 13 4 3600 20380101000000 20200101000000 1 optout. AAAA\n"
		"ns RRSIG A 13 2 3600 20380101000000 20200101000000 1 optout. AAAA\n"
		"sec RRSIG DS 13 2 3600 20380101000000 20200101000000 1 optout. AAAA\n"
		"svc RRSIG SVCB 13 2 3600 20380101000000 20200101000000 1 optout. AAAA\n"
		"svc0 RRSIG SVCB 13 2 3600 20380101000000 20200101000000 1 optout. AAAA\n"
		"*.wc RRSIG CNAME 13 2 3600 20380101000000 20200101000000 1 optout. AAAA\n"
		"web RRSIG A 13 2 3600 20380101000000 20200101000000 1 optout. AAAA\n"
		"web RRSIG AAAA 13 2 3600 20380101000000 20200101000000 1 optout. AAAA\n"
		"*.wild RRSIG A 13 2 3600 20380101000000 20200101000000 1 optout. AAAA\n"
		"*.wild RRSIG TXT 13 2 3600 20380101000000 20200101000000 1 optout. AAAA\n"
		"www RRSIG CNAME 13 2 3600 20380101000000 20200101000000 1 optout. AAAA\n"
		"151336mr537qo28qcdks37mim3bmcf87 300 NSEC3 1 1 0 - 16t6g5lo5t8mj7599nqpn1kdvc41cvkc CNAME RRSIG\n"
		"16t6g5lo5t8mj7599nqpn1kdvc41cvkc 300 NSEC3 1 1 0 - 5h2rnbvktmffph0r8er6ue6mq58guvvh\n"
		"5h2rnbvktmffph0r8er6ue6mq58guvvh 300 NSEC3 1 1 0 - 9sndclp0o0bkslmqg89l4sv6dbug7f03 CNAME RRSIG\n"
		"9sndclp0o0bkslmqg89l4sv6dbug7f03 300 NSEC3 1 1 0 - bk0hsseqcnqp9lp62q67rr53pcp60k1m\n"
		"bk0hsseqcnqp9lp62q67rr53pcp60k1m 300 NSEC3 1 1 0 - ckeckpfi8miljmii35dm8cvfg0lap0r6\n"
		"ckeckpfi8miljmii35dm8cvfg0lap0r6 300 NSEC3 1 1 0 - ctntmtn81bo6dlev4sdor61c00f6vhs7 DNAME RRSIG\n"
		"ctntmtn81bo6dlev4sdor61c00f6vhs7 300 NSEC3 1 1 0 - di5v3hpeu5evn538pber5omrlliqd6u4 NS SOA MX RRSIG "
		"DNSKEY "
		"NSEC3PARAM\n"
		"di5v3hpeu5evn538pber5omrlliqd6u4 300 NSEC3 1 1 0 - eghv21eqpe2dtqj8agn2ltanpnc222jh\n"
		"eghv21eqpe2dtqj8agn2ltanpnc222jh 300 NSEC3 1 1 0 - fkkfbm2fa53nne3am14fed0jeu7gi7u9 CNAME RRSIG\n"
		"fkkfbm2fa53nne3am14fed0jeu7gi7u9 300 NSEC3 1 1 0 - h7upcnagp0ke4cg4oun44i9ernn1dqc0 RRSIG SVCB\n"
		"h7upcnagp0ke4cg4oun44i9ernn1dqc0 300 NSEC3 1 1 0 - hq1pu184dd9odus7vrs2sfefpbuuo8pk NS DS RRSIG\n"
		"hq1pu184dd9odus7vrs2sfefpbuuo8pk 300 NSEC3 1 1 0 - lj741fukoq1je82ksp4jvaf4ve8mmk5q A TXT RRSIG\n"
		"lj741fukoq1je82ksp4jvaf4ve8mmk5q 300 NSEC3 1 1 0 - qr3b119dhltd9goceq5o26n0c54ppdq2 A AAAA RRSIG\n"
		"qr3b119dhltd9goceq5o26n0c54ppdq2 300 NSEC3 1 1 0 - sir2gj8pe4sregc8d20o8luasp86eujj CNAME RRSIG\n"
		"sir2gj8pe4sregc8d20o8luasp86eujj 300 NSEC3 1 1 0 - t4r7ch659umh4pscfi9lodq1aqdt9jmh RRSIG SVCB\n"
		"t4r7ch659umh4pscfi9lodq1aqdt9jmh 300 NSEC3 1 1 0 - u8vn0dd3buteilq10a9cf5kihpkn6qv4 A RRSIG\n"
		"u8vn0dd3buteilq10a9cf5kihpkn6qv4 300 NSEC3 1 1 0 - 151336mr537qo28qcdks37mim3bmcf87 A RRSIG\n"
		"151336mr537qo28qcdks37mim3bmcf87 300 RRSIG NSEC3 13 2 300 20380101000000 20200101000000 1 optout. "
		"AAAA\n"
		"16t6g5lo5t8mj7599nqpn1kdvc41cvkc 300 RRSIG NSEC3 13 2 300 20380101000000 20200101000000 1 optout. "
		"AAAA\n"
		"5h2rnbvktmffph0r8er6ue6mq58guvvh 300 RRSIG NSEC3 13 2 300 20380101000000 20200101000000 1 optout. "
		"AAAA\n"
		"9sndclp0o0bkslmqg89l4sv6dbug7f03 300 RRSIG NSEC3 13 2 300 20380101000000 20200101000000 1 optout. "
		"AAAA\n"
		"bk0hsseqcnqp9lp62q67rr53pcp60k1m 300 RRSIG NSEC3 13 2 300 20380101000000 20200101000000 1 optout. "
		"AAAA\n"
		"ckeckpfi8miljmii35dm8cvfg0lap0r6 300 RRSIG NSEC3 13 2 300 20380101000000 20200101000000 1 optout. "
		"AAAA\n"
		"ctntmtn81bo6dlev4sdor61c00f6vhs7 300 RRSIG NSEC3 13 2 300 20380101000000 20200101000000 1 optout. "
		"AAAA\n"
		"di5v3hpeu5evn538pber5omrlliqd6u4 300 RRSIG NSEC3 13 2 300 20380101000000 20200101000000 1 optout. "
		"AAAA\n"
		"eghv21eqpe2dtqj8agn2ltanpnc222jh 300 RRSIG NSEC3 13 2 300 20380101000000 20200101000000 1 optout. "
		"AAAA\n"
		"fkkfbm2fa53nne3am14fed0jeu7gi7u9 300 RRSIG NSEC3 13 2 300 20380101000000 20200101000000 1 optout. "
		"AAAA\n"
		"h7upcnagp0ke4cg4oun44i9ernn1dqc0 300 RRSIG NSEC3 13 2 300 20380101000000 20200101000000 1 optout. "
		"AAAA\n"
		"hq1pu184dd9odus7vrs2sfefpbuuo8pk 300 RRSIG NSEC3 13 2 300 20380101000000 20200101000000 1 optout. "
		"AAAA\n"
		"lj741fukoq1je82ksp4jvaf4ve8mmk5q 300 RRSIG NSEC3 13 2 300 20380101000000 20200101000000 1 optout. "
		"AAAA\n"
		"qr3b119dhltd9goceq5o26n0c54ppdq2 300 RRSIG NSEC3 13 2 300 20380101000000 20200101000000 1 optout. "
		"AAAA\n"
		"sir2gj8pe4sregc8d20o8luasp86eujj 300 RRSIG NSEC3 13 2 300 20380101000000 20200101000000 1 optout. "
		"AAAA\n"
		"t4r7ch659umh4pscfi9lodq1aqdt9jmh 300 RRSIG NSEC3 13 2 300 20380101000000 20200101000000 1 optout. "
		"AAAA\n"
		"u8vn0dd3buteilq10a9cf5kihpkn6qv4 300 RRSIG NSEC3 13 2 300 20380101000000 20200101000000 1 optout. "
		"AAAA\n";

typedef struct {
	const char *qname, *qtype;
	bool dnssec_ok;   /* with an OPT record of 1232 bytes */
	const char *want; /* rcode, flags; then records of each section, sorted */
} answer_row_t;

static const answer_row_t rows[] = {
	{ "web.ex.", "A", false,
			"NOERROR aa\n"
			"AN web.ex. A 192.0.2.3" },
	{ "Web.ex.", "AAAA", false,
			"NOERROR aa\n"
			"AN Web.ex. AAAA 2001:db8::3" },
	{ "web.ex.", "MX", false,
			"NOERROR aa\n"
			"AU ex. SOA/300" },
	{ "web.ex.", "TXT", false,
			"NOERROR aa\n"
			"AN web.ex. TXT \"t\"" },
	{ "web.ex.", "ANY", false,
			"NOERROR aa\n"
			"AN web.ex. A 192.0.2.3" },
	{ "web.ex.", "RRSIG", false,
			"NOERROR aa\n"
			"AU ex. SOA/300" },
	{ "ex.", "ANY", false,
			"NOERROR aa\n"
			"AN ex. NS ns.other.; ex. NS ns1.ex.; ex. NS ns2.sub.ex.\n"
			"AD ns1.ex. A 192.0.2.1; ns1.ex. AAAA 2001:db8::1; ns2.sub.ex. A 192.0.2.61" },
	{ "ex.", "NS", false,
			"NOERROR aa\n"
			"AN ex. NS ns.other.; ex. NS ns1.ex.; ex. NS ns2.sub.ex.\n"
			"AD ns1.ex. A 192.0.2.1; ns1.ex. AAAA 2001:db8::1; ns2.sub.ex. A 192.0.2.61" },
	{ "ex.", "MX", false,
			"NOERROR aa\n"
			"AN ex. MX 10 mail.ex.; ex. MX 20 mail.other.\n"
			"AD mail.ex. A 192.0.2.2" },
	{ "ex.", "SOA", false,
			"NOERROR aa\n"
			"AN ex. SOA/3600" },
	{ "ex.", "DS", false,
			"NOERROR aa\n"
			"AU ex. SOA/300" },
	{ "www.ex.", "A", false,
			"NOERROR aa\n"
			"AN web.ex. A 192.0.2.3; www.ex. CNAME web.ex." },
	{ "www.ex.", "CNAME", false,
			"NOERROR aa\n"
			"AN www.ex. CNAME web.ex." },
	{ "www.ex.", "NSEC", false,
			"NOERROR aa\n"
			"AU ex. SOA/300" },
	{ "www.ex.", "ANY", false,
			"NOERROR aa\n"
			"AN www.ex. CNAME web.ex." },
	{ "c3.ex.", "A", false,
			"NOERROR aa\n"
			"AN c3.ex. CNAME c4.ex.; c4.ex. CNAME c5.ex.; c5.ex. CNAME c6.ex.; c6.ex. CNAME c7.ex.; c7.ex. "
			"CNAME c8.ex.; "
			"c8.ex. A 192.0.2.8" },
	{ "c4.ex.", "A", false,
			"NOERROR aa\n"
			"AN c4.ex. CNAME c5.ex.; c5.ex. CNAME c6.ex.; c6.ex. CNAME c7.ex.; c7.ex. CNAME c8.ex.; c8.ex. "
			"A 192.0.2.8" },
	{ "c1.ex.", "A", false,
			"NOERROR aa\n"
			"AN c1.ex. CNAME c2.ex.; c2.ex. CNAME c3.ex.; c3.ex. CNAME c4.ex.; c4.ex. CNAME c5.ex.; c5.ex. "
			"CNAME "
			"c6.ex." },
	{ "loop1.ex.", "A", false,
			"NOERROR aa\n"
			"AN loop1.ex. CNAME loop2.ex.; loop2.ex. CNAME loop1.ex." },
	{ "self.ex.", "A", false,
			"NOERROR aa\n"
			"AN self.ex. CNAME self.ex." },
	{ "cout.ex.", "A", false,
			"NOERROR aa\n"
			"AN cout.ex. CNAME www.other." },
	{ "cnx.ex.", "A", false,
			"NXDOMAIN aa\n"
			"AN cnx.ex. CNAME nonexist.ex.\n"
			"AU ex. SOA/300" },
	{ "ccut.ex.", "A", false,
			"NOERROR aa\n"
			"AN ccut.ex. CNAME host.sub.ex.\n"
			"AU sub.ex. NS ns.other.; sub.ex. NS ns.sub.ex.; sub.ex. NS ns.sub2.ex.; sub.ex. NS ns1.ex.\n"
			"AD ns.sub.ex. A 192.0.2.6; ns.sub.ex. AAAA 2001:db8::6; ns.sub2.ex. A 192.0.2.7; ns1.ex. A "
			"192.0.2.1; "
			"ns1.ex. AAAA 2001:db8::1" },
	{ "cwild.ex.", "A", false,
			"NOERROR aa\n"
			"AN cwild.ex. CNAME foo.wild.ex.; foo.wild.ex. A 192.0.2.4" },
	{ "cd.ex.", "A", false,
			"NXDOMAIN aa\n"
			"AN a.dn.ex. CNAME a.web.ex.; cd.ex. CNAME a.dn.ex.; dn.ex. DNAME web.ex.\n"
			"AU ex. SOA/300" },
	{ "foo.dn.ex.", "A", false,
			"NXDOMAIN aa\n"
			"AN dn.ex. DNAME web.ex.; foo.dn.ex. CNAME foo.web.ex.\n"
			"AU ex. SOA/300" },
	{ "dn.ex.", "A", false,
			"NOERROR aa\n"
			"AU ex. SOA/300" },
	{ "dn.ex.", "DNAME", false,
			"NOERROR aa\n"
			"AN dn.ex. DNAME web.ex." },
	{ "dn.ex.", "TXT", false,
			"NOERROR aa\n"
			"AN dn.ex. TXT \"dname owner\"" },
	{ "foo.dnout.ex.", "A", false,
			"NOERROR aa\n"
			"AN dnout.ex. DNAME other.; foo.dnout.ex. CNAME foo.other." },
	{ "a.dnself.ex.", "A", false,
			"NOERROR aa\n"
			"AN a.dnself.ex. CNAME a.x.dnself.ex.; a.x.dnself.ex. CNAME a.x.x.dnself.ex.; a.x.x.dnself.ex. "
			"CNAME "
			"a.x.x.x.dnself.ex.; a.x.x.x.dnself.ex. CNAME a.x.x.x.x.dnself.ex.; a.x.x.x.x.dnself.ex. CNAME "
			"a.x.x.x.x.x.dnself.ex.; dnself.ex. DNAME x.dnself.ex." },
	{ "a.b.dnchain.ex.", "A", false,
			"NXDOMAIN aa\n"
			"AN a.b.dn2.ex. CNAME a.b.dn3.ex.; a.b.dnchain.ex. CNAME a.b.dn2.ex.; dn2.ex. DNAME dn3.ex.; "
			"dnchain.ex. "
			"DNAME dn2.ex.\n"
			"AU ex. SOA/300" },
	{ "x.dnchain.ex.", "A", false,
			"NOERROR aa\n"
			"AN dn2.ex. DNAME dn3.ex.; dnchain.ex. DNAME dn2.ex.; x.dn2.ex. CNAME x.dn3.ex.; x.dn3.ex. A "
			"192.0.2.33; "
			"x.dnchain.ex. CNAME x.dn2.ex." },
	{ "x.dnwild.ex.", "A", false,
			"NOERROR aa\n"
			"AN dnwild.ex. DNAME wild.ex.; x.dnwild.ex. CNAME x.wild.ex.; x.wild.ex. A 192.0.2.4" },
	{ "x.dn.ex.", "CNAME", false,
			"NOERROR aa\n"
			"AN dn.ex. DNAME web.ex.; x.dn.ex. CNAME x.web.ex." },
	{ "x.dn.ex.", "ANY", false,
			"NXDOMAIN aa\n"
			"AN dn.ex. DNAME web.ex.; x.dn.ex. CNAME x.web.ex.\n"
			"AU ex. SOA/300" },
	{ "foo.wild.ex.", "A", false,
			"NOERROR aa\n"
			"AN foo.wild.ex. A 192.0.2.4" },
	{ "a.b.wild.ex.", "TXT", false,
			"NOERROR aa\n"
			"AN a.b.wild.ex. TXT \"wild\"" },
	{ "foo.wild.ex.", "MX", false,
			"NOERROR aa\n"
			"AU ex. SOA/300" },
	{ "wild.ex.", "A", false,
			"NOERROR aa\n"
			"AU ex. SOA/300" },
	{ "*.wild.ex.", "A", false,
			"NOERROR aa\n"
			"AN *.wild.ex. A 192.0.2.4" },
	{ "w.wc.ex.", "A", false,
			"NOERROR aa\n"
			"AN w.wc.ex. CNAME web.ex.; web.ex. A 192.0.2.3" },
	{ "w.wcx.ex.", "A", false,
			"NOERROR aa\n"
			"AN w.wcx.ex. CNAME y.wcx.ex.; y.wcx.ex. CNAME y.wcx.ex." },
	{ "w.wcl.ex.", "A", false,
			"NOERROR aa\n"
			"AN w.wcl.ex. CNAME z.wild.ex.; z.wild.ex. A 192.0.2.4" },
	{ "w.wmx.ex.", "MX", false,
			"NOERROR aa\n"
			"AN w.wmx.ex. MX 10 mail.ex.; w.wmx.ex. MX 20 x.y.ex.\n"
			"AD mail.ex. A 192.0.2.2" },
	{ "w.wmx.ex.", "A", false,
			"NOERROR aa\n"
			"AU ex. SOA/300" },
	{ "ent.ex.", "A", false,
			"NOERROR aa\n"
			"AU ex. SOA/300" },
	{ "b.ent.ex.", "ANY", false,
			"NOERROR aa\n"
			"AU ex. SOA/300" },
	{ "a.b.ent.ex.", "A", false,
			"NOERROR aa\n"
			"AN a.b.ent.ex. A 192.0.2.5" },
	{ "nx.ex.", "A", false,
			"NXDOMAIN aa\n"
			"AU ex. SOA/300" },
	{ "x.a.b.ent.ex.", "A", false,
			"NXDOMAIN aa\n"
			"AU ex. SOA/300" },
	{ "went.x.ex.", "A", false,
			"NOERROR aa\n"
			"AU ex. SOA/300" },
	{ "sub.ex.", "A", false,
			"NOERROR\n"
			"AU sub.ex. NS ns.other.; sub.ex. NS ns.sub.ex.; sub.ex. NS ns.sub2.ex.; sub.ex. NS ns1.ex.\n"
			"AD ns.sub.ex. A 192.0.2.6; ns.sub.ex. AAAA 2001:db8::6; ns.sub2.ex. A 192.0.2.7; ns1.ex. A "
			"192.0.2.1; "
			"ns1.ex. AAAA 2001:db8::1" },
	{ "sub.ex.", "NS", false,
			"NOERROR\n"
			"AU sub.ex. NS ns.other.; sub.ex. NS ns.sub.ex.; sub.ex. NS ns.sub2.ex.; sub.ex. NS ns1.ex.\n"
			"AD ns.sub.ex. A 192.0.2.6; ns.sub.ex. AAAA 2001:db8::6; ns.sub2.ex. A 192.0.2.7; ns1.ex. A "
			"192.0.2.1; "
			"ns1.ex. AAAA 2001:db8::1" },
	{ "sub.ex.", "DS", false,
			"NOERROR aa\n"
			"AU ex. SOA/300" },
	{ "sub.ex.", "ANY", false,
			"NOERROR\n"
			"AU sub.ex. NS ns.other.; sub.ex. NS ns.sub.ex.; sub.ex. NS ns.sub2.ex.; sub.ex. NS ns1.ex.\n"
			"AD ns.sub.ex. A 192.0.2.6; ns.sub.ex. AAAA 2001:db8::6; ns.sub2.ex. A 192.0.2.7; ns1.ex. A "
			"192.0.2.1; "
			"ns1.ex. AAAA 2001:db8::1" },
	{ "x.sub.ex.", "A", false,
			"NOERROR\n"
			"AU sub.ex. NS ns.other.; sub.ex. NS ns.sub.ex.; sub.ex. NS ns.sub2.ex.; sub.ex. NS ns1.ex.\n"
			"AD ns.sub.ex. A 192.0.2.6; ns.sub.ex. AAAA 2001:db8::6; ns.sub2.ex. A 192.0.2.7; ns1.ex. A "
			"192.0.2.1; "
			"ns1.ex. AAAA 2001:db8::1" },
	{ "ns.sub.ex.", "A", false,
			"NOERROR\n"
			"AU sub.ex. NS ns.other.; sub.ex. NS ns.sub.ex.; sub.ex. NS ns.sub2.ex.; sub.ex. NS ns1.ex.\n"
			"AD ns.sub.ex. A 192.0.2.6; ns.sub.ex. AAAA 2001:db8::6; ns.sub2.ex. A 192.0.2.7; ns1.ex. A "
			"192.0.2.1; "
			"ns1.ex. AAAA 2001:db8::1" },
	{ "ns.sub.ex.", "DS", false,
			"NOERROR\n"
			"AU sub.ex. NS ns.other.; sub.ex. NS ns.sub.ex.; sub.ex. NS ns.sub2.ex.; sub.ex. NS ns1.ex.\n"
			"AD ns.sub.ex. A 192.0.2.6; ns.sub.ex. AAAA 2001:db8::6; ns.sub2.ex. A 192.0.2.7; ns1.ex. A "
			"192.0.2.1; "
			"ns1.ex. AAAA 2001:db8::1" },
	{ "sub2.ex.", "DS", false,
			"NOERROR aa\n"
			"AN sub2.ex. DS" },
	{ "x.sub2.ex.", "A", false,
			"NOERROR\n"
			"AU sub2.ex. NS ns.sub.ex.; sub2.ex. NS ns.sub2.ex.\n"
			"AD ns.sub.ex. A 192.0.2.6; ns.sub.ex. AAAA 2001:db8::6; ns.sub2.ex. A 192.0.2.7" },
	{ "x.sub3.ex.", "A", false,
			"NOERROR\n"
			"AU sub3.ex. NS ns.other." },
	{ "x.sibling.ex.", "A", false,
			"NOERROR\n"
			"AU sibling.ex. NS ns.sub.ex.\n"
			"AD ns.sub.ex. A 192.0.2.6; ns.sub.ex. AAAA 2001:db8::6" },
	{ "child.ex.", "DS", false,
			"NOERROR aa\n"
			"AN child.ex. DS" },
	{ "child.ex.", "NS", false,
			"NOERROR aa\n"
			"AN child.ex. NS ns.child.ex.\n"
			"AD ns.child.ex. A 192.0.2.77" },
	{ "x.child.ex.", "A", false,
			"NXDOMAIN aa\n"
			"AU child.ex. SOA/300" },
	{ "ns.child.ex.", "A", false,
			"NOERROR aa\n"
			"AN ns.child.ex. A 192.0.2.77" },
	{ "_sip._tcp.ex.", "SRV", false,
			"NOERROR aa\n"
			"AN _sip._tcp.ex. SRV 1 2 3 host.sub.ex.; _sip._tcp.ex. SRV 1 2 3 mail.ex.; _sip._tcp.ex. SRV "
			"1 2 3 "
			"w.wild.ex.; _sip._tcp.ex. SRV 1 2 3 www.ex.\n"
			"AD mail.ex. A 192.0.2.2; w.wild.ex. A 192.0.2.4" },
	{ "svc.ex.", "SVCB", false,
			"NOERROR aa\n"
			"AN svc.ex. SVCB 0 svc2.ex.\n"
			"AD svc2.ex. SVCB 1 web.ex." },
	{ "svc2.ex.", "SVCB", false,
			"NOERROR aa\n"
			"AN svc2.ex. SVCB 1 web.ex.\n"
			"AD web.ex. A 192.0.2.3; web.ex. AAAA 2001:db8::3" },
	{ "svc3.ex.", "SVCB", false,
			"NOERROR aa\n"
			"AN svc3.ex. SVCB 1 ." },
	{ "h.ex.", "HTTPS", false,
			"NOERROR aa\n"
			"AN h.ex. HTTPS 0 h2.ex.\n"
			"AD h2.ex. HTTPS 1 web.ex.; h2.ex. HTTPS 2 mail.ex." },
	{ "h2.ex.", "HTTPS", false,
			"NOERROR aa\n"
			"AN h2.ex. HTTPS 1 web.ex.; h2.ex. HTTPS 2 mail.ex.\n"
			"AD mail.ex. A 192.0.2.2; web.ex. A 192.0.2.3; web.ex. AAAA 2001:db8::3" },
	{ "ptr.ex.", "PTR", false,
			"NOERROR aa\n"
			"AN ptr.ex. PTR web.ex." },
	{ "kx.ex.", "KX", false,
			"NOERROR aa\n"
			"AN kx.ex. KX 1 mail.ex." },
	{ "mxwild.ex.", "MX", false,
			"NOERROR aa\n"
			"AN mxwild.ex. MX 10 q.wild.ex.\n"
			"AD q.wild.ex. A 192.0.2.4" },
	{ "mxcname.ex.", "MX", false,
			"NOERROR aa\n"
			"AN mxcname.ex. MX 10 www.ex." },
	{ "mxdelg.ex.", "MX", false,
			"NOERROR aa\n"
			"AN mxdelg.ex. MX 10 ns.sub.ex.\n"
			"AD ns.sub.ex. A 192.0.2.6; ns.sub.ex. AAAA 2001:db8::6" },
	{ "x.wns.ex.", "A", false,
			"NOERROR\n"
			"AU *.wns.ex. NS ns.wns.ex." },
	{ "x.wns.ex.", "DS", false,
			"NOERROR aa\n"
			"AU ex. SOA/300" },
	{ "*.wns.ex.", "DS", false,
			"NOERROR aa\n"
			"AU ex. SOA/300" },
	{ "x.wds.ex.", "A", false,
			"NOERROR aa\n"
			"AU ex. SOA/300" },
	{ "a.x.wds.ex.", "A", false,
			"NOERROR aa\n"
			"AU ex. SOA/300" },
	{ "x.ccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc.fit.ex.", "A", false,
			"NOERROR\n"
			"AU fit.ex. NS a.ccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc.fit.ex.; "
			"fit.ex. NS "
			"ddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd.other.; fit.ex. NS "
			"eeeeeeeeeeeeeeeee"
			"eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee.other.; fit.ex. NS "
			"ffffffffffffffffffffffffffffffffff"
			"fffffffffffffffffffffffffffff.other.; fit.ex. NS "
			"ggggggggggggggggggggggggggggggggggggggggggggggggggg"
			"gggggggggggg.other.\n"
			"AD a.ccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc.fit.ex. A 10.1.0.1; "
			"a.ccccccccc"
			"cccccccccccccccccccccccccccccccccccccccccccccccccccccc.fit.ex. AAAA 2001:db8::f1" },
	{ "x.big.ex.", "A", false,
			"NOERROR tc\n"
			"AU big.ex. NS ns0.big.ex.; big.ex. NS ns1.big.ex.; big.ex. NS ns10.big.ex.; big.ex. NS "
			"ns11.big.ex.; "
			"big.ex. NS ns12.big.ex.; big.ex. NS ns13.big.ex.; big.ex. NS ns2.big.ex.; big.ex. NS "
			"ns3.big.ex.; big.ex. "
			"NS ns4.big.ex.; big.ex. NS ns5.big.ex.; big.ex. NS ns6.big.ex.; big.ex. NS ns7.big.ex.; "
			"big.ex. NS "
			"ns8.big.ex.; big.ex. NS ns9.big.ex.\n"
			"AD ns0.big.ex. A 10.0.0.0; ns0.big.ex. AAAA 2001:db8::1; ns1.big.ex. A 10.0.0.1; ns1.big.ex. "
			"AAAA "
			"2001:db8::2; ns2.big.ex. A 10.0.0.2; ns2.big.ex. AAAA 2001:db8::3; ns3.big.ex. A 10.0.0.3; "
			"ns3.big.ex. AAAA "
			"2001:db8::4; ns4.big.ex. A 10.0.0.4; ns4.big.ex. AAAA 2001:db8::5" },
	{ "big.ex.", "NS", false,
			"NOERROR tc\n"
			"AU big.ex. NS ns0.big.ex.; big.ex. NS ns1.big.ex.; big.ex. NS ns10.big.ex.; big.ex. NS "
			"ns11.big.ex.; "
			"big.ex. NS ns12.big.ex.; big.ex. NS ns13.big.ex.; big.ex. NS ns2.big.ex.; big.ex. NS "
			"ns3.big.ex.; big.ex. "
			"NS ns4.big.ex.; big.ex. NS ns5.big.ex.; big.ex. NS ns6.big.ex.; big.ex. NS ns7.big.ex.; "
			"big.ex. NS "
			"ns8.big.ex.; big.ex. NS ns9.big.ex.\n"
			"AD ns0.big.ex. A 10.0.0.0; ns0.big.ex. AAAA 2001:db8::1; ns1.big.ex. A 10.0.0.1; ns1.big.ex. "
			"AAAA "
			"2001:db8::2; ns2.big.ex. A 10.0.0.2; ns2.big.ex. AAAA 2001:db8::3; ns3.big.ex. A 10.0.0.3; "
			"ns3.big.ex. AAAA "
			"2001:db8::4; ns4.big.ex. A 10.0.0.4; ns4.big.ex. AAAA 2001:db8::5" },
	{ "web.ex.", "OPT", false,
			"NOERROR aa\n"
			"AU ex. SOA/300" },
	{ "web.ex.", "TYPE65535", false,
			"NOERROR aa\n"
			"AU ex. SOA/300" },
	{ "web.nsec.", "A", true,
			"NOERROR aa opt\n"
			"AN web.nsec. A 192.0.2.3; web.nsec. RRSIG(A)" },
	{ "web.nsec.", "MX", true,
			"NOERROR aa opt\n"
			"AU nsec. RRSIG(SOA); nsec. SOA/300; web.nsec. NSEC *.wild.nsec.; web.nsec. RRSIG(NSEC)" },
	{ "www.nsec.", "A", true,
			"NOERROR aa opt\n"
			"AN web.nsec. A 192.0.2.3; web.nsec. RRSIG(A); www.nsec. CNAME web.nsec.; www.nsec. "
			"RRSIG(CNAME)" },
	{ "cnx.nsec.", "A", true,
			"NXDOMAIN aa opt\n"
			"AN cnx.nsec. CNAME nope.nsec.; cnx.nsec. RRSIG(CNAME)\n"
			"AU nsec. NSEC cnx.nsec.; nsec. RRSIG(NSEC); nsec. RRSIG(SOA); nsec. SOA/300; sub.entcut.nsec. "
			"NSEC "
			"ns.nsec.; sub.entcut.nsec. RRSIG(NSEC)" },
	{ "cw.nsec.", "A", true,
			"NOERROR aa opt\n"
			"AN cw.nsec. CNAME x.wild.nsec.; cw.nsec. RRSIG(CNAME); x.wild.nsec. A 192.0.2.4; x.wild.nsec. "
			"RRSIG(A)\n"
			"AU *.wild.nsec. NSEC www.nsec.; *.wild.nsec. RRSIG(NSEC)" },
	{ "nx.nsec.", "A", true,
			"NXDOMAIN aa opt\n"
			"AU ns.nsec. NSEC sec.nsec.; ns.nsec. RRSIG(NSEC); nsec. NSEC cnx.nsec.; nsec. RRSIG(NSEC); "
			"nsec. "
			"RRSIG(SOA); nsec. SOA/300" },
	{ "a.b.nx.nsec.", "A", true,
			"NXDOMAIN aa opt\n"
			"AU ns.nsec. NSEC sec.nsec.; ns.nsec. RRSIG(NSEC); nsec. NSEC cnx.nsec.; nsec. RRSIG(NSEC); "
			"nsec. "
			"RRSIG(SOA); nsec. SOA/300" },
	{ "x.wild.nsec.", "A", true,
			"NOERROR aa opt\n"
			"AN x.wild.nsec. A 192.0.2.4; x.wild.nsec. RRSIG(A)\n"
			"AU *.wild.nsec. NSEC www.nsec.; *.wild.nsec. RRSIG(NSEC)" },
	{ "a.b.wild.nsec.", "A", true,
			"NOERROR aa opt\n"
			"AN a.b.wild.nsec. A 192.0.2.4; a.b.wild.nsec. RRSIG(A)\n"
			"AU *.wild.nsec. NSEC www.nsec.; *.wild.nsec. RRSIG(NSEC)" },
	{ "x.wild.nsec.", "MX", true,
			"NOERROR aa opt\n"
			"AU *.wild.nsec. NSEC www.nsec.; *.wild.nsec. RRSIG(NSEC); nsec. RRSIG(SOA); nsec. SOA/300" },
	{ "wild.nsec.", "A", true,
			"NOERROR aa opt\n"
			"AU nsec. RRSIG(SOA); nsec. SOA/300; web.nsec. NSEC *.wild.nsec.; web.nsec. RRSIG(NSEC)" },
	{ "*.wild.nsec.", "A", true,
			"NOERROR aa opt\n"
			"AN *.wild.nsec. A 192.0.2.4; *.wild.nsec. RRSIG(A)" },
	{ "*.wild.nsec.", "MX", true,
			"NOERROR aa opt\n"
			"AU *.wild.nsec. NSEC www.nsec.; *.wild.nsec. RRSIG(NSEC); nsec. RRSIG(SOA); nsec. SOA/300" },
	{ "x.wc.nsec.", "A", true,
			"NOERROR aa opt\n"
			"AN web.nsec. A 192.0.2.3; web.nsec. RRSIG(A); x.wc.nsec. CNAME web.nsec.; x.wc.nsec. "
			"RRSIG(CNAME)\n"
			"AU *.wc.nsec. NSEC web.nsec.; *.wc.nsec. RRSIG(NSEC)" },
	{ "x.wc.nsec.", "MX", true,
			"NOERROR aa opt\n"
			"AN x.wc.nsec. CNAME web.nsec.; x.wc.nsec. RRSIG(CNAME)\n"
			"AU *.wc.nsec. NSEC web.nsec.; *.wc.nsec. RRSIG(NSEC); nsec. RRSIG(SOA); nsec. SOA/300; "
			"web.nsec. NSEC "
			"*.wild.nsec.; web.nsec. RRSIG(NSEC)" },
	{ "ent.nsec.", "A", true,
			"NOERROR aa opt\n"
			"AU dn.nsec. NSEC a.b.ent.nsec.; dn.nsec. RRSIG(NSEC); nsec. RRSIG(SOA); nsec. SOA/300" },
	{ "b.ent.nsec.", "A", true,
			"NOERROR aa opt\n"
			"AU dn.nsec. NSEC a.b.ent.nsec.; dn.nsec. RRSIG(NSEC); nsec. RRSIG(SOA); nsec. SOA/300" },
	{ "nope.ent.nsec.", "A", true,
			"NXDOMAIN aa opt\n"
			"AU a.b.ent.nsec. NSEC sub.entcut.nsec.; a.b.ent.nsec. RRSIG(NSEC); dn.nsec. NSEC "
			"a.b.ent.nsec.; dn.nsec. "
			"RRSIG(NSEC); nsec. RRSIG(SOA); nsec. SOA/300" },
	{ "x.a.b.ent.nsec.", "A", true,
			"NXDOMAIN aa opt\n"
			"AU a.b.ent.nsec. NSEC sub.entcut.nsec.; a.b.ent.nsec. RRSIG(NSEC); nsec. RRSIG(SOA); nsec. "
			"SOA/300" },
	{ "sub.nsec.", "A", true,
			"NOERROR opt\n"
			"AU sub.nsec. NS ns.sub.nsec.; sub.nsec. NSEC svc.nsec.; sub.nsec. RRSIG(NSEC)\n"
			"AD ns.sub.nsec. A 192.0.2.6" },
	{ "x.sub.nsec.", "A", true,
			"NOERROR opt\n"
			"AU sub.nsec. NS ns.sub.nsec.; sub.nsec. NSEC svc.nsec.; sub.nsec. RRSIG(NSEC)\n"
			"AD ns.sub.nsec. A 192.0.2.6" },
	{ "sub.nsec.", "DS", true,
			"NOERROR aa opt\n"
			"AU nsec. RRSIG(SOA); nsec. SOA/300; sub.nsec. NSEC svc.nsec.; sub.nsec. RRSIG(NSEC)" },
	{ "x.sub.entcut.nsec.", "A", true,
			"NOERROR opt\n"
			"AU sub.entcut.nsec. NS ns.other.; sub.entcut.nsec. NSEC ns.nsec.; sub.entcut.nsec. "
			"RRSIG(NSEC)" },
	{ "entcut.nsec.", "A", true,
			"NOERROR aa opt\n"
			"AU a.b.ent.nsec. NSEC sub.entcut.nsec.; a.b.ent.nsec. RRSIG(NSEC); nsec. RRSIG(SOA); nsec. "
			"SOA/300" },
	{ "sub.entcut.nsec.", "DS", true,
			"NOERROR aa opt\n"
			"AU nsec. RRSIG(SOA); nsec. SOA/300; sub.entcut.nsec. NSEC ns.nsec.; sub.entcut.nsec. "
			"RRSIG(NSEC)" },
	{ "nx.entcut.nsec.", "A", true,
			"NXDOMAIN aa opt\n"
			"AU a.b.ent.nsec. NSEC sub.entcut.nsec.; a.b.ent.nsec. RRSIG(NSEC); nsec. RRSIG(SOA); nsec. "
			"SOA/300" },
	{ "sec.nsec.", "NS", true,
			"NOERROR opt\n"
			"AU sec.nsec. DS; sec.nsec. NS ns.nsec.; sec.nsec. RRSIG(DS)\n"
			"AD ns.nsec. A 192.0.2.1; ns.nsec. RRSIG(A)" },
	{ "x.sec.nsec.", "A", true,
			"NOERROR opt\n"
			"AU sec.nsec. DS; sec.nsec. NS ns.nsec.; sec.nsec. RRSIG(DS)\n"
			"AD ns.nsec. A 192.0.2.1; ns.nsec. RRSIG(A)" },
	{ "sec.nsec.", "DS", true,
			"NOERROR aa opt\n"
			"AN sec.nsec. DS; sec.nsec. RRSIG(DS)" },
	{ "nsec.", "DS", true,
			"NOERROR aa opt\n"
			"AU nsec. NSEC cnx.nsec.; nsec. RRSIG(NSEC); nsec. RRSIG(SOA); nsec. SOA/300" },
	{ "nsec.", "SOA", true,
			"NOERROR aa opt\n"
			"AN nsec. RRSIG(SOA); nsec. SOA/3600" },
	{ "nsec.", "DNSKEY", true,
			"NOERROR aa opt\n"
			"AN nsec. DNSKEY; nsec. RRSIG(DNSKEY)" },
	{ "nsec.", "NSEC3PARAM", true,
			"NOERROR aa opt\n"
			"AU nsec. NSEC cnx.nsec.; nsec. RRSIG(NSEC); nsec. RRSIG(SOA); nsec. SOA/300" },
	{ "x.dn.nsec.", "A", true,
			"NXDOMAIN aa opt\n"
			"AN dn.nsec. DNAME ent.nsec.; dn.nsec. RRSIG(DNAME); x.dn.nsec. CNAME x.ent.nsec.\n"
			"AU a.b.ent.nsec. NSEC sub.entcut.nsec.; a.b.ent.nsec. RRSIG(NSEC); dn.nsec. NSEC "
			"a.b.ent.nsec.; dn.nsec. "
			"RRSIG(NSEC); nsec. RRSIG(SOA); nsec. SOA/300" },
	{ "a.b.dn.nsec.", "A", true,
			"NOERROR aa opt\n"
			"AN a.b.dn.nsec. CNAME a.b.ent.nsec.; a.b.ent.nsec. A 192.0.2.5; a.b.ent.nsec. RRSIG(A); "
			"dn.nsec. DNAME "
			"ent.nsec.; dn.nsec. RRSIG(DNAME)" },
	{ "b.dn.nsec.", "A", true,
			"NOERROR aa opt\n"
			"AN b.dn.nsec. CNAME b.ent.nsec.; dn.nsec. DNAME ent.nsec.; dn.nsec. RRSIG(DNAME)\n"
			"AU dn.nsec. NSEC a.b.ent.nsec.; dn.nsec. RRSIG(NSEC); nsec. RRSIG(SOA); nsec. SOA/300" },
	{ "svc.nsec.", "SVCB", true,
			"NOERROR aa opt\n"
			"AN svc.nsec. RRSIG(SVCB); svc.nsec. SVCB 1 web.nsec.\n"
			"AD web.nsec. A 192.0.2.3; web.nsec. AAAA 2001:db8::3; web.nsec. NSEC *.wild.nsec.; web.nsec. "
			"RRSIG(A); "
			"web.nsec. RRSIG(AAAA); web.nsec. RRSIG(NSEC)" },
	{ "svc0.nsec.", "SVCB", true,
			"NOERROR aa opt\n"
			"AN svc0.nsec. RRSIG(SVCB); svc0.nsec. SVCB 0 svc.nsec.\n"
			"AD svc.nsec. NSEC svc0.nsec.; svc.nsec. RRSIG(NSEC); svc.nsec. RRSIG(SVCB); svc.nsec. SVCB 1 "
			"web.nsec." },
	{ "web.nsec.", "ANY", true,
			"NOERROR aa opt\n"
			"AN web.nsec. A 192.0.2.3; web.nsec. RRSIG(A)" },
	{ "web.nsec.", "RRSIG", true,
			"NOERROR aa opt\n"
			"AN web.nsec. RRSIG(A)" },
	{ "web.nsec.", "NSEC", true,
			"NOERROR aa opt\n"
			"AN web.nsec. NSEC *.wild.nsec.; web.nsec. RRSIG(NSEC)" },
	{ "ent.nsec.", "NSEC", true,
			"NOERROR aa opt\n"
			"AU dn.nsec. NSEC a.b.ent.nsec.; dn.nsec. RRSIG(NSEC); nsec. RRSIG(SOA); nsec. SOA/300" },
	{ "nsec.", "ANY", true,
			"NOERROR aa opt\n"
			"AN nsec. NS ns.nsec.; nsec. RRSIG(NS)\n"
			"AD ns.nsec. A 192.0.2.1; ns.nsec. RRSIG(A)" },
	{ "web.sub.nx.nsec.", "A", true,
			"NXDOMAIN aa opt\n"
			"AU ns.nsec. NSEC sec.nsec.; ns.nsec. RRSIG(NSEC); nsec. NSEC cnx.nsec.; nsec. RRSIG(NSEC); "
			"nsec. "
			"RRSIG(SOA); nsec. SOA/300" },
	{ "web.nsec3.", "A", true,
			"NOERROR aa opt\n"
			"AN web.nsec3. A 192.0.2.3; web.nsec3. RRSIG(A)" },
	{ "web.nsec3.", "MX", true,
			"NOERROR aa opt\n"
			"AU 2sjfgl NSEC3; 2sjfgl RRSIG(NSEC3); nsec3. RRSIG(SOA); nsec3. SOA/300" },
	{ "www.nsec3.", "A", true,
			"NOERROR aa opt\n"
			"AN web.nsec3. A 192.0.2.3; web.nsec3. RRSIG(A); www.nsec3. CNAME web.nsec3.; www.nsec3. "
			"RRSIG(CNAME)" },
	{ "cnx.nsec3.", "A", true,
			"NXDOMAIN aa opt\n"
			"AN cnx.nsec3. CNAME nope.nsec3.; cnx.nsec3. RRSIG(CNAME)\n"
			"AU 3rrjes NSEC3; 3rrjes RRSIG(NSEC3); krct6t NSEC3; krct6t RRSIG(NSEC3); nsec3. RRSIG(SOA); "
			"nsec3. SOA/300; "
			"q0i6p9 NSEC3; q0i6p9 RRSIG(NSEC3)" },
	{ "cw.nsec3.", "A", true,
			"NOERROR aa opt\n"
			"AN cw.nsec3. CNAME x.wild.nsec3.; cw.nsec3. RRSIG(CNAME); x.wild.nsec3. A 192.0.2.4; "
			"x.wild.nsec3. "
			"RRSIG(A)\n"
			"AU nubsd2 NSEC3; nubsd2 RRSIG(NSEC3)" },
	{ "nx.nsec3.", "A", true,
			"NXDOMAIN aa opt\n"
			"AU 3rrjes NSEC3; 3rrjes RRSIG(NSEC3); j4r7b4 NSEC3; j4r7b4 RRSIG(NSEC3); nsec3. RRSIG(SOA); "
			"nsec3. SOA/300; "
			"q0i6p9 NSEC3; q0i6p9 RRSIG(NSEC3)" },
	{ "a.b.nx.nsec3.", "A", true,
			"NXDOMAIN aa opt\n"
			"AU 3rrjes NSEC3; 3rrjes RRSIG(NSEC3); j4r7b4 NSEC3; j4r7b4 RRSIG(NSEC3); nsec3. RRSIG(SOA); "
			"nsec3. SOA/300; "
			"q0i6p9 NSEC3; q0i6p9 RRSIG(NSEC3)" },
	{ "x.wild.nsec3.", "A", true,
			"NOERROR aa opt\n"
			"AN x.wild.nsec3. A 192.0.2.4; x.wild.nsec3. RRSIG(A)\n"
			"AU nubsd2 NSEC3; nubsd2 RRSIG(NSEC3)" },
	{ "a.b.wild.nsec3.", "A", true,
			"NOERROR aa opt\n"
			"AN a.b.wild.nsec3. A 192.0.2.4; a.b.wild.nsec3. RRSIG(A)\n"
			"AU j4r7b4 NSEC3; j4r7b4 RRSIG(NSEC3)" },
	{ "x.wild.nsec3.", "MX", true,
			"NOERROR aa opt\n"
			"AU nsec3. RRSIG(SOA); nsec3. SOA/300; nubsd2 NSEC3; nubsd2 RRSIG(NSEC3); q0i6p9 NSEC3; q0i6p9 "
			"RRSIG(NSEC3); "
			"valor0 NSEC3; valor0 RRSIG(NSEC3)" },
	{ "wild.nsec3.", "A", true,
			"NOERROR aa opt\n"
			"AU nsec3. RRSIG(SOA); nsec3. SOA/300; valor0 NSEC3; valor0 RRSIG(NSEC3)" },
	{ "*.wild.nsec3.", "A", true,
			"NOERROR aa opt\n"
			"AN *.wild.nsec3. A 192.0.2.4; *.wild.nsec3. RRSIG(A)" },
	{ "*.wild.nsec3.", "MX", true,
			"NOERROR aa opt\n"
			"AU nsec3. RRSIG(SOA); nsec3. SOA/300; q0i6p9 NSEC3; q0i6p9 RRSIG(NSEC3)" },
	{ "x.wc.nsec3.", "A", true,
			"NOERROR aa opt\n"
			"AN web.nsec3. A 192.0.2.3; web.nsec3. RRSIG(A); x.wc.nsec3. CNAME web.nsec3.; x.wc.nsec3. "
			"RRSIG(CNAME)\n"
			"AU 8r3c0h NSEC3; 8r3c0h RRSIG(NSEC3)" },
	{ "x.wc.nsec3.", "MX", true,
			"NOERROR aa opt\n"
			"AN x.wc.nsec3. CNAME web.nsec3.; x.wc.nsec3. RRSIG(CNAME)\n"
			"AU 2sjfgl NSEC3; 2sjfgl RRSIG(NSEC3); 8r3c0h NSEC3; 8r3c0h RRSIG(NSEC3); nsec3. RRSIG(SOA); "
			"nsec3. "
			"SOA/300" },
	{ "ent.nsec3.", "A", true,
			"NOERROR aa opt\n"
			"AU j4r7b4 NSEC3; j4r7b4 RRSIG(NSEC3); nsec3. RRSIG(SOA); nsec3. SOA/300" },
	{ "b.ent.nsec3.", "A", true,
			"NOERROR aa opt\n"
			"AU ar090i NSEC3; ar090i RRSIG(NSEC3); nsec3. RRSIG(SOA); nsec3. SOA/300" },
	{ "nope.ent.nsec3.", "A", true,
			"NXDOMAIN aa opt\n"
			"AU 1pqucd NSEC3; 1pqucd RRSIG(NSEC3); ektde6 NSEC3; ektde6 RRSIG(NSEC3); j4r7b4 NSEC3; j4r7b4 "
			"RRSIG(NSEC3); "
			"nsec3. RRSIG(SOA); nsec3. SOA/300" },
	{ "x.a.b.ent.nsec3.", "A", true,
			"NXDOMAIN aa opt\n"
			"AU ektde6 NSEC3; ektde6 RRSIG(NSEC3); krct6t NSEC3; krct6t RRSIG(NSEC3); nsec3. RRSIG(SOA); "
			"nsec3. SOA/300; "
			"q0i6p9 NSEC3; q0i6p9 RRSIG(NSEC3)" },
	{ "sub.nsec3.", "A", true,
			"NOERROR opt\n"
			"AU 1pqucd NSEC3; 1pqucd RRSIG(NSEC3); sub.nsec3. NS ns.sub.nsec3.\n"
			"AD ns.sub.nsec3. A 192.0.2.6" },
	{ "x.sub.nsec3.", "A", true,
			"NOERROR opt\n"
			"AU 1pqucd NSEC3; 1pqucd RRSIG(NSEC3); sub.nsec3. NS ns.sub.nsec3.\n"
			"AD ns.sub.nsec3. A 192.0.2.6" },
	{ "sub.nsec3.", "DS", true,
			"NOERROR aa opt\n"
			"AU 1pqucd NSEC3; 1pqucd RRSIG(NSEC3); nsec3. RRSIG(SOA); nsec3. SOA/300" },
	{ "x.sub.entcut.nsec3.", "A", true,
			"NOERROR opt\n"
			"AU 8r3c0h NSEC3; 8r3c0h RRSIG(NSEC3); sub.entcut.nsec3. NS ns.other." },
	{ "entcut.nsec3.", "A", true,
			"NOERROR aa opt\n"
			"AU nsec3. RRSIG(SOA); nsec3. SOA/300; su9gfn NSEC3; su9gfn RRSIG(NSEC3)" },
	{ "sub.entcut.nsec3.", "DS", true,
			"NOERROR aa opt\n"
			"AU 8r3c0h NSEC3; 8r3c0h RRSIG(NSEC3); nsec3. RRSIG(SOA); nsec3. SOA/300" },
	{ "nx.entcut.nsec3.", "A", true,
			"NXDOMAIN aa opt\n"
			"AU j4r7b4 NSEC3; j4r7b4 RRSIG(NSEC3); nsec3. RRSIG(SOA); nsec3. SOA/300; su9gfn NSEC3; su9gfn "
			"RRSIG(NSEC3)" },
	{ "sec.nsec3.", "NS", true,
			"NOERROR opt\n"
			"AU sec.nsec3. DS; sec.nsec3. NS ns.nsec3.; sec.nsec3. RRSIG(DS)\n"
			"AD ns.nsec3. A 192.0.2.1; ns.nsec3. RRSIG(A)" },
	{ "x.sec.nsec3.", "A", true,
			"NOERROR opt\n"
			"AU sec.nsec3. DS; sec.nsec3. NS ns.nsec3.; sec.nsec3. RRSIG(DS)\n"
			"AD ns.nsec3. A 192.0.2.1; ns.nsec3. RRSIG(A)" },
	{ "sec.nsec3.", "DS", true,
			"NOERROR aa opt\n"
			"AN sec.nsec3. DS; sec.nsec3. RRSIG(DS)" },
	{ "nsec3.", "DS", true,
			"NOERROR aa opt\n"
			"AU 3rrjes NSEC3; 3rrjes RRSIG(NSEC3); nsec3. RRSIG(SOA); nsec3. SOA/300" },
	{ "nsec3.", "SOA", true,
			"NOERROR aa opt\n"
			"AN nsec3. RRSIG(SOA); nsec3. SOA/3600" },
	{ "nsec3.", "DNSKEY", true,
			"NOERROR aa opt\n"
			"AN nsec3. DNSKEY; nsec3. RRSIG(DNSKEY)" },
	{ "nsec3.", "NSEC3PARAM", true,
			"NOERROR aa opt\n"
			"AN nsec3. NSEC3PARAM; nsec3. RRSIG(NSEC3PARAM)" },
	{ "x.dn.nsec3.", "A", true,
			"NXDOMAIN aa opt\n"
			"AN dn.nsec3. DNAME ent.nsec3.; dn.nsec3. RRSIG(DNAME); x.dn.nsec3. CNAME x.ent.nsec3.\n"
			"AU ektde6 NSEC3; ektde6 RRSIG(NSEC3); j4r7b4 NSEC3; j4r7b4 RRSIG(NSEC3); nsec3. RRSIG(SOA); "
			"nsec3. "
			"SOA/300" },
	{ "a.b.dn.nsec3.", "A", true,
			"NOERROR aa opt\n"
			"AN a.b.dn.nsec3. CNAME a.b.ent.nsec3.; a.b.ent.nsec3. A 192.0.2.5; a.b.ent.nsec3. RRSIG(A); "
			"dn.nsec3. DNAME "
			"ent.nsec3.; dn.nsec3. RRSIG(DNAME)" },
	{ "b.dn.nsec3.", "A", true,
			"NOERROR aa opt\n"
			"AN b.dn.nsec3. CNAME b.ent.nsec3.; dn.nsec3. DNAME ent.nsec3.; dn.nsec3. RRSIG(DNAME)\n"
			"AU ar090i NSEC3; ar090i RRSIG(NSEC3); nsec3. RRSIG(SOA); nsec3. SOA/300" },
	{ "svc.nsec3.", "SVCB", true,
			"NOERROR aa opt\n"
			"AN svc.nsec3. RRSIG(SVCB); svc.nsec3. SVCB 1 web.nsec3.\n"
			"AD 2sjfgl NSEC3; 2sjfgl RRSIG(NSEC3); web.nsec3. A 192.0.2.3; web.nsec3. AAAA 2001:db8::3; "
			"web.nsec3. "
			"RRSIG(A); web.nsec3. RRSIG(AAAA)" },
	{ "svc0.nsec3.", "SVCB", true,
			"NOERROR aa opt\n"
			"AN svc0.nsec3. RRSIG(SVCB); svc0.nsec3. SVCB 0 svc.nsec3.\n"
			"AD nubsd2 NSEC3; nubsd2 RRSIG(NSEC3); svc.nsec3. RRSIG(SVCB); svc.nsec3. SVCB 1 web.nsec3." },
	{ "web.nsec3.", "ANY", true,
			"NOERROR aa opt\n"
			"AN web.nsec3. A 192.0.2.3; web.nsec3. RRSIG(A)" },
	{ "web.nsec3.", "RRSIG", true,
			"NOERROR aa opt\n"
			"AN web.nsec3. RRSIG(A)" },
	{ "web.nsec3.", "NSEC", true,
			"NOERROR aa opt\n"
			"AU 2sjfgl NSEC3; 2sjfgl RRSIG(NSEC3); nsec3. RRSIG(SOA); nsec3. SOA/300" },
	{ "ent.nsec3.", "NSEC", true,
			"NOERROR aa opt\n"
			"AU j4r7b4 NSEC3; j4r7b4 RRSIG(NSEC3); nsec3. RRSIG(SOA); nsec3. SOA/300" },
	{ "nsec3.", "ANY", true,
			"NOERROR aa opt\n"
			"AN nsec3. NS ns.nsec3.; nsec3. RRSIG(NS)\n"
			"AD ns.nsec3. A 192.0.2.1; ns.nsec3. RRSIG(A)" },
	{ "web.sub.nx.nsec3.", "A", true,
			"NXDOMAIN aa opt\n"
			"AU 3rrjes NSEC3; 3rrjes RRSIG(NSEC3); j4r7b4 NSEC3; j4r7b4 RRSIG(NSEC3); nsec3. RRSIG(SOA); "
			"nsec3. SOA/300; "
			"q0i6p9 NSEC3; q0i6p9 RRSIG(NSEC3)" },
	{ "web.optout.", "A", true,
			"NOERROR aa opt\n"
			"AN web.optout. A 192.0.2.3; web.optout. RRSIG(A)" },
	{ "web.optout.", "MX", true,
			"NOERROR aa opt\n"
			"AU lj741f NSEC3; lj741f RRSIG(NSEC3); optout. RRSIG(SOA); optout. SOA/300" },
	{ "www.optout.", "A", true,
			"NOERROR aa opt\n"
			"AN web.optout. A 192.0.2.3; web.optout. RRSIG(A); www.optout. CNAME web.optout.; www.optout. "
			"RRSIG(CNAME)" },
	{ "cnx.optout.", "A", true,
			"NXDOMAIN aa opt\n"
			"AN cnx.optout. CNAME nope.optout.; cnx.optout. RRSIG(CNAME)\n"
			"AU ctntmt NSEC3; ctntmt RRSIG(NSEC3); fkkfbm NSEC3; fkkfbm RRSIG(NSEC3); optout. RRSIG(SOA); "
			"optout. "
			"SOA/300; u8vn0d NSEC3; u8vn0d RRSIG(NSEC3)" },
	{ "cw.optout.", "A", true,
			"NOERROR aa opt\n"
			"AN cw.optout. CNAME x.wild.optout.; cw.optout. RRSIG(CNAME); x.wild.optout. A 192.0.2.4; "
			"x.wild.optout. "
			"RRSIG(A)\n"
			"AU qr3b11 NSEC3; qr3b11 RRSIG(NSEC3)" },
	{ "nx.optout.", "A", true,
			"NXDOMAIN aa opt\n"
			"AU ctntmt NSEC3; ctntmt RRSIG(NSEC3); optout. RRSIG(SOA); optout. SOA/300; qr3b11 NSEC3; "
			"qr3b11 "
			"RRSIG(NSEC3); u8vn0d NSEC3; u8vn0d RRSIG(NSEC3)" },
	{ "a.b.nx.optout.", "A", true,
			"NXDOMAIN aa opt\n"
			"AU ctntmt NSEC3; ctntmt RRSIG(NSEC3); optout. RRSIG(SOA); optout. SOA/300; qr3b11 NSEC3; "
			"qr3b11 "
			"RRSIG(NSEC3); u8vn0d NSEC3; u8vn0d RRSIG(NSEC3)" },
	{ "x.wild.optout.", "A", true,
			"NOERROR aa opt\n"
			"AN x.wild.optout. A 192.0.2.4; x.wild.optout. RRSIG(A)\n"
			"AU qr3b11 NSEC3; qr3b11 RRSIG(NSEC3)" },
	{ "a.b.wild.optout.", "A", true,
			"NOERROR aa opt\n"
			"AN a.b.wild.optout. A 192.0.2.4; a.b.wild.optout. RRSIG(A)\n"
			"AU sir2gj NSEC3; sir2gj RRSIG(NSEC3)" },
	{ "x.wild.optout.", "MX", true,
			"NOERROR aa opt\n"
			"AU 9sndcl NSEC3; 9sndcl RRSIG(NSEC3); hq1pu1 NSEC3; hq1pu1 RRSIG(NSEC3); optout. RRSIG(SOA); "
			"optout. "
			"SOA/300; qr3b11 NSEC3; qr3b11 RRSIG(NSEC3)" },
	{ "wild.optout.", "A", true,
			"NOERROR aa opt\n"
			"AU 9sndcl NSEC3; 9sndcl RRSIG(NSEC3); optout. RRSIG(SOA); optout. SOA/300" },
	{ "*.wild.optout.", "A", true,
			"NOERROR aa opt\n"
			"AN *.wild.optout. A 192.0.2.4; *.wild.optout. RRSIG(A)" },
	{ "*.wild.optout.", "MX", true,
			"NOERROR aa opt\n"
			"AU hq1pu1 NSEC3; hq1pu1 RRSIG(NSEC3); optout. RRSIG(SOA); optout. SOA/300" },
	{ "x.wc.optout.", "A", true,
			"NOERROR aa opt\n"
			"AN web.optout. A 192.0.2.3; web.optout. RRSIG(A); x.wc.optout. CNAME web.optout.; "
			"x.wc.optout. "
			"RRSIG(CNAME)\n"
			"AU hq1pu1 NSEC3; hq1pu1 RRSIG(NSEC3)" },
	{ "x.wc.optout.", "MX", true,
			"NOERROR aa opt\n"
			"AN x.wc.optout. CNAME web.optout.; x.wc.optout. RRSIG(CNAME)\n"
			"AU hq1pu1 NSEC3; hq1pu1 RRSIG(NSEC3); lj741f NSEC3; lj741f RRSIG(NSEC3); optout. RRSIG(SOA); "
			"optout. "
			"SOA/300" },
	{ "ent.optout.", "A", true,
			"NOERROR aa opt\n"
			"AU 16t6g5 NSEC3; 16t6g5 RRSIG(NSEC3); optout. RRSIG(SOA); optout. SOA/300" },
	{ "b.ent.optout.", "A", true,
			"NOERROR aa opt\n"
			"AU bk0hss NSEC3; bk0hss RRSIG(NSEC3); optout. RRSIG(SOA); optout. SOA/300" },
	{ "nope.ent.optout.", "A", true,
			"NXDOMAIN aa opt\n"
			"AU 16t6g5 NSEC3; 16t6g5 RRSIG(NSEC3); 5h2rnb NSEC3; 5h2rnb RRSIG(NSEC3); lj741f NSEC3; lj741f "
			"RRSIG(NSEC3); "
			"optout. RRSIG(SOA); optout. SOA/300" },
	{ "x.a.b.ent.optout.", "A", true,
			"NXDOMAIN aa opt\n"
			"AU 5h2rnb NSEC3; 5h2rnb RRSIG(NSEC3); lj741f NSEC3; lj741f RRSIG(NSEC3); optout. RRSIG(SOA); "
			"optout. "
			"SOA/300; u8vn0d NSEC3; u8vn0d RRSIG(NSEC3)" },
	{ "sub.optout.", "A", true,
			"NOERROR opt\n"
			"AU 9sndcl NSEC3; 9sndcl RRSIG(NSEC3); ctntmt NSEC3; ctntmt RRSIG(NSEC3); sub.optout. NS "
			"ns.sub.optout.\n"
			"AD ns.sub.optout. A 192.0.2.6" },
	{ "x.sub.optout.", "A", true,
			"NOERROR opt\n"
			"AU 9sndcl NSEC3; 9sndcl RRSIG(NSEC3); ctntmt NSEC3; ctntmt RRSIG(NSEC3); sub.optout. NS "
			"ns.sub.optout.\n"
			"AD ns.sub.optout. A 192.0.2.6" },
	{ "sub.optout.", "DS", true,
			"NOERROR aa opt\n"
			"AU 9sndcl NSEC3; 9sndcl RRSIG(NSEC3); ctntmt NSEC3; ctntmt RRSIG(NSEC3); optout. RRSIG(SOA); "
			"optout. "
			"SOA/300" },
	{ "x.sub.entcut.optout.", "A", true,
			"NOERROR opt\n"
			"AU ctntmt NSEC3; ctntmt RRSIG(NSEC3); sub.entcut.optout. NS ns.other." },
	{ "entcut.optout.", "A", true,
			"NOERROR aa opt\n"
			"AU ctntmt NSEC3; ctntmt RRSIG(NSEC3); optout. RRSIG(SOA); optout. SOA/300" },
	{ "sub.entcut.optout.", "DS", true,
			"NOERROR aa opt\n"
			"AU ctntmt NSEC3; ctntmt RRSIG(NSEC3); optout. RRSIG(SOA); optout. SOA/300" },
	{ "nx.entcut.optout.", "A", true,
			"NXDOMAIN aa opt\n"
			"AU ctntmt NSEC3; ctntmt RRSIG(NSEC3); optout. RRSIG(SOA); optout. SOA/300; u8vn0d NSEC3; "
			"u8vn0d "
			"RRSIG(NSEC3)" },
	{ "sec.optout.", "NS", true,
			"NOERROR opt\n"
			"AU sec.optout. DS; sec.optout. NS ns.optout.; sec.optout. RRSIG(DS)\n"
			"AD ns.optout. A 192.0.2.1; ns.optout. RRSIG(A)" },
	{ "x.sec.optout.", "A", true,
			"NOERROR opt\n"
			"AU sec.optout. DS; sec.optout. NS ns.optout.; sec.optout. RRSIG(DS)\n"
			"AD ns.optout. A 192.0.2.1; ns.optout. RRSIG(A)" },
	{ "sec.optout.", "DS", true,
			"NOERROR aa opt\n"
			"AN sec.optout. DS; sec.optout. RRSIG(DS)" },
	{ "optout.", "DS", true,
			"NOERROR aa opt\n"
			"AU ctntmt NSEC3; ctntmt RRSIG(NSEC3); optout. RRSIG(SOA); optout. SOA/300" },
	{ "optout.", "SOA", true,
			"NOERROR aa opt\n"
			"AN optout. RRSIG(SOA); optout. SOA/3600" },
	{ "optout.", "DNSKEY", true,
			"NOERROR aa opt\n"
			"AN optout. DNSKEY; optout. RRSIG(DNSKEY)" },
	{ "optout.", "NSEC3PARAM", true,
			"NOERROR aa opt\n"
			"AN optout. NSEC3PARAM; optout. RRSIG(NSEC3PARAM)" },
	{ "x.dn.optout.", "A", true,
			"NXDOMAIN aa opt\n"
			"AN dn.optout. DNAME ent.optout.; dn.optout. RRSIG(DNAME); x.dn.optout. CNAME x.ent.optout.\n"
			"AU 16t6g5 NSEC3; 16t6g5 RRSIG(NSEC3); 5h2rnb NSEC3; 5h2rnb RRSIG(NSEC3); optout. RRSIG(SOA); "
			"optout. "
			"SOA/300; u8vn0d NSEC3; u8vn0d RRSIG(NSEC3)" },
	{ "a.b.dn.optout.", "A", true,
			"NOERROR aa opt\n"
			"AN a.b.dn.optout. CNAME a.b.ent.optout.; a.b.ent.optout. A 192.0.2.5; a.b.ent.optout. "
			"RRSIG(A); dn.optout. "
			"DNAME ent.optout.; dn.optout. RRSIG(DNAME)" },
	{ "b.dn.optout.", "A", true,
			"NOERROR aa opt\n"
			"AN b.dn.optout. CNAME b.ent.optout.; dn.optout. DNAME ent.optout.; dn.optout. RRSIG(DNAME)\n"
			"AU bk0hss NSEC3; bk0hss RRSIG(NSEC3); optout. RRSIG(SOA); optout. SOA/300" },
	{ "svc.optout.", "SVCB", true,
			"NOERROR aa opt\n"
			"AN svc.optout. RRSIG(SVCB); svc.optout. SVCB 1 web.optout.\n"
			"AD lj741f NSEC3; lj741f RRSIG(NSEC3); web.optout. A 192.0.2.3; web.optout. AAAA 2001:db8::3; "
			"web.optout. "
			"RRSIG(A); web.optout. RRSIG(AAAA)" },
	{ "svc0.optout.", "SVCB", true,
			"NOERROR aa opt\n"
			"AN svc0.optout. RRSIG(SVCB); svc0.optout. SVCB 0 svc.optout.\n"
			"AD sir2gj NSEC3; sir2gj RRSIG(NSEC3); svc.optout. RRSIG(SVCB); svc.optout. SVCB 1 "
			"web.optout." },
	{ "web.optout.", "ANY", true,
			"NOERROR aa opt\n"
			"AN web.optout. A 192.0.2.3; web.optout. RRSIG(A)" },
	{ "web.optout.", "RRSIG", true,
			"NOERROR aa opt\n"
			"AN web.optout. RRSIG(A)" },
	{ "web.optout.", "NSEC", true,
			"NOERROR aa opt\n"
			"AU lj741f NSEC3; lj741f RRSIG(NSEC3); optout. RRSIG(SOA); optout. SOA/300" },
	{ "ent.optout.", "NSEC", true,
			"NOERROR aa opt\n"
			"AU 16t6g5 NSEC3; 16t6g5 RRSIG(NSEC3); optout. RRSIG(SOA); optout. SOA/300" },
	{ "optout.", "ANY", true,
			"NOERROR aa opt\n"
			"AN optout. NS ns.optout.; optout. RRSIG(NS)\n"
			"AD ns.optout. A 192.0.2.1; ns.optout. RRSIG(A)" },
	{ "web.sub.nx.optout.", "A", true,
			"NXDOMAIN aa opt\n"
			"AU ctntmt NSEC3; ctntmt RRSIG(NSEC3); optout. RRSIG(SOA); optout. SOA/300; qr3b11 NSEC3; "
			"qr3b11 "
			"RRSIG(NSEC3); u8vn0d NSEC3; u8vn0d RRSIG(NSEC3)" },
	{ "web.nsec.", "A", false,
			"NOERROR aa\n"
			"AN web.nsec. A 192.0.2.3" },
	{ "nx.nsec.", "A", false,
			"NXDOMAIN aa\n"
			"AU nsec. SOA/300" },
	{ "x.wild.nsec.", "A", false,
			"NOERROR aa\n"
			"AN x.wild.nsec. A 192.0.2.4" },
	{ "sub.nsec.", "DS", false,
			"NOERROR aa\n"
			"AU nsec. SOA/300" },
	{ "x.sec.nsec.", "A", false,
			"NOERROR\n"
			"AU sec.nsec. NS ns.nsec.\n"
			"AD ns.nsec. A 192.0.2.1" },
};
