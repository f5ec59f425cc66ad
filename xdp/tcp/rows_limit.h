/* SPDX-License-Identifier: BSD-2-Clause */
/* Scripts (script.h): limits, idle connections, memory. */
#pragma once

#include "xdp/tcp/rows_connect.h"

/* A request whose reply of 100 bytes waits for a window; a probe 9 s later, and the answer that it is still closed. */
#define ASK_SHUT       "< A 1 1 win=0 len=9\nread 9\nwrite 100\n> A 1 10\n"
#define ANSWERED_PROBE "time +9s\n> A 1 10 len=1\n< A 10 1 win=0\n"

static const script_row_t limit_rows[] = {
	{ "tcp-idle-close-timeout: FIN; tcp-idle-reset-timeout: RST",
			OPEN "time +9800ms\n> none\ntime +300ms\n> FA 1 1\nstat idle_closed 1\n< A 1 2\ntime +9s\n> "
			     "none\ntime "
			     "+1200ms\n> RA 2\nstat idle_reset 1\nstat clients 0\n" },
	{ "a peer that answers our idle close with its FIN",
			OPEN "time +10100ms\n> FA 1 1\n< FA 1 2\n> A 2 2\nstat time_wait 1\nstat clients 0\n" },
	{ "a reply starts the idle time again",
			OPEN "time +8s\n< A 1 1 len=9\nread 9\nwrite 9\n> A 1 10 len=9\n< A 10 10\ntime +8s\n> "
			     "none\ntime +2200ms\n> FA 10 10\n" },
	{ "… a request without a reply doesn't", OPEN "time +8s\n< A 1 1 len=9\nread 9\n> A 1 10\ntime +2200ms\n> "
						      "FA 1 10\nstat idle_closed 1\n" },
	{ "an acknowledged reply starts it again",
			OPEN "< A 1 1 len=9\nread 9\nwrite 9\n> A 1 10 len=9\ntime +100ms\n< "
			     "A 10 10\ntime +9800ms\n> none\ntime +300ms\n> FA 10 10\n" },
	{ "single bytes of a request don't (slow-loris)", OPEN "time +4s\n< A 1 1 len=1\nread 1 use=0\ntime +4s\n< A 2 "
							       "1 len=1\nread 2 use=0\n> A 1 3\ntime +2100ms\n> "
							       "FA 1 3\nstat idle_closed 1\nstat inbuf 0\n" },
	{ "512 bytes of a long request do", OPEN "time +8s\n< A 1 1 len=1000\nread 1000 use=0\ntime +8s\n> A 1 1001\n> "
						 "none\nstat idle_closed 0\n" },
	{ "a reply that is promised (an update, a transfer) puts FIN off",
			OPEN "< A 1 1 len=9\nread 9\nhold\nhold\n> A 1 10\ntime +9s\ntime +9s\ntime +9s\nrelease\ntime "
			     "+9s\n> none\n"
			     "write 100\nrelease\n> A 1 10 len=100\n< A 10 101\ntime +9s\n> none\ntime +1100ms\n> FA "
			     "101 10\n" },
	{ "… unless the peer takes nothing",
			OPEN "< A 1 1 win=0 len=9\nread 9\nhold\nwrite 100\n> A 1 10\ntime "
			     "+11s\ndrain\ntime +10s\ndrain\nstat idle_reset 1\nstat clients 0\nrelease\n" },
	{ "a reply that isn't acknowledged puts FIN off, RST comes in its time", OPEN
			"< A 1 1 win=0 len=9\nread 9\nwrite 100\n> A 1 10\ntime +11s\ndrain\nstat idle_closed 0\ntime "
			"+10s\ndrain\nstat idle_reset 1\nstat clients 0\n" },
	{ "… and when it is acknowledged the idle time starts again",
			OPEN "< A 1 1 win=0 len=9\nread 9\nwrite 100\n> A 1 10\ntime +11s\ndrain\n< A 10 1 win=512\n> "
			     "A 1 10 "
			     "len=100\n< A 10 101\ntime +9s\n> none\ntime +1100ms\n> FA 101 10\nstat idle_closed 1\n" },
	{ "… but not when only single bytes are",
			"< S 0 mss=1460\n> SA 0 1\n< A 1 1 win=1 len=9\nread 9\nwrite 1000\n> A 1 10 len=1\ntime +18s\n"
			"drain\n< A 10 2 win=1\ndrain\ntime +18s\ndrain\n< A 10 3 win=1\ndrain\ntime +18s\ndrain\n"
			"< A 10 4 win=1\ndrain\ntime +18s\ndrain\n< A 10 5 win=1\ndrain\ntime +18s\ndrain\n< A 10 6 "
			"win=1\n"
			"drain\ntime +18s\ndrain\n< A 10 7 win=1\ndrain\ntime +18s\ndrain\n< A 10 8 win=1\ndrain\n"
			"stat idle_reset 1\nstat clients 0\n" },
	{ "a peer with a closed window that answers probes is slow, not idle",
			OPEN ASK_SHUT ANSWERED_PROBE ANSWERED_PROBE ANSWERED_PROBE ANSWERED_PROBE ANSWERED_PROBE
					ANSWERED_PROBE "time +7s\nstat idle_reset 0\n< A 10 1 win=512\n> A 1 10 "
						       "len=100\n< A 10 101\nstat clients 1\n" },
	{ "… but not for ever: 100 s without any progress",
			OPEN ASK_SHUT ANSWERED_PROBE ANSWERED_PROBE ANSWERED_PROBE ANSWERED_PROBE ANSWERED_PROBE
					ANSWERED_PROBE ANSWERED_PROBE ANSWERED_PROBE ANSWERED_PROBE
			"stat idle_reset 0\n" ANSWERED_PROBE ANSWERED_PROBE "time +9s\ndrain\ntime +9s\ndrain\n"
			"stat idle_reset 1\nstat clients 0\n" },
	{ "… and not when it answers no more", OPEN ASK_SHUT ANSWERED_PROBE ANSWERED_PROBE
			"time +9s\ndrain\ntime +9s\n"
			"drain\ntime +9s\ndrain\nstat idle_reset 1\nstat clients 0\n" },
	{ "a reply that is sent again and again keeps idle_reset waiting", OPEN
			"< A 1 1 win=512 len=9\nread 9\nwrite 100\n> A 1 10 len=100\ntime +300ms\n> A 1 10 "
			"len=100\ntime "
			"+600ms\ndrain\ntime +1200ms\ndrain\ntime +2200ms\ndrain\ntime +4200ms\ndrain\ntime "
			"+8200ms\ndrain\ntime +16200ms\n> A 1 10 len=100\ntime +20s\n> none\nstat idle_reset 0\n< A 10 "
			"101\ntime +9900ms\n> none\ntime +300ms\n> FA 101 10\n" },
	{ "… and so does a FIN", OPEN "< A 1 1 win=512 len=9\nread 9\nclose\n> FA 1 10\ntime +300ms\n> FA 1 10\ntime "
				      "+600ms\ndrain\ntime "
				      "+1200ms\ndrain\ntime +2200ms\ndrain\ntime +4200ms\ndrain\ntime "
				      "+8200ms\ndrain\ntime +16200ms\n> "
				      "FA 1 10\n> none\n< FA 10 2\n> A 2 11\nstat time_wait 1\nstat idle_reset 0\n" },
	{ "… but not for ever: two minutes, whatever the window did meanwhile",
			OPEN "< A 1 1 win=512 len=9\nread 9\nwrite 100\ndrain\ntime +30s\ndrain\n< A 10 1 "
			     "win=0\ndrain\n< A 10 1 "
			     "win=512\ndrain\ntime +30s\ndrain\n< A 10 1 win=0\ndrain\n< A 10 1 win=512\ndrain\ntime "
			     "+30s\ndrain\nstat clients 1\ntime +12s\n> RA 101\nstat clients 0\n" },
	{ "pings without data don't", OPEN "time +8s\n< A 1 1\n< A 0 1\n> A 1 1\ntime +2200ms\n> FA 1 1\n" },
	{ "tcp-max-clients: the longest idle is reset for a new one",
			"limits clients=2\n" OPEN "time +1s\nport 1\n" OPEN
			"time +1s\nport 2\n< S 0 mss=1460\n> SA 0 1\nstat cookies_sent 1\n< A 1 1 len=9\nread 9\nport "
			"0\n> RA "
			"1\nport 2\n> A 1 10\nstat evicted 1\nstat clients 2\n" },
	{ "tcp-max-clients: TIME-WAIT goes first",
			"limits clients=1\n" OPEN
			"close\n< A 1 1 len=5\nread 5\nclose\n> FA 1 6\n< FA 6 2\n> A 2 7\nport 1\n< S "
			"0\n> SA 0 1\nstat time_wait 0\nstat evicted 0\nstat cookies_sent 0\n" },
	{ "a SYN to a full table resets no connection",
			"limits clients=1\n" OPEN "port 1\n< S 0\n> SA 0 1\n> none\nstat clients 1\nstat evicted 0\n" },
	{ "fewer clients by reload: the longest idle go", OPEN
			"time +1s\nport 1\n" OPEN "time +1s\nport 2\n" OPEN
			"configure clients=1\ntime +1ms\nport 0\n> RA 1\nport 1\n> RA 1\n> none\nstat clients 1\n" },
	{ "more clients by reload: all are found again",
			"limits clients=60\n" OPEN "configure clients=100000\n< A 1 1 len=9\nread 9\n> A 1 10\n" },
	{ "so many connections per source",
			"limits source=1\n" OPEN
			"port 1\n< S 0\n> none\nstat dropped_limit 1\nsource 2\n< S 0\n> SA 0 1\n" },
	{ "so many per source, counted when they are complete", "limits source=1\n< S 0\n> SA 0 1\nport 1\n< S 0\n> SA "
								"0 1\n< A 1 1\n> none\nport 0\n< A 1 1\n> RA 1\n> "
								"none\nstat clients 1\n" },
	{ "cookies of a source that has enough connections push out no other",
			"limits half_open=0 clients=2 source=1\nsource 2\n< S 0\n> SA 0 1\n< A 1 1\nsource 1\nport "
			"1\n< S 0\n> SA 0 "
			"1\nport 2\n< S 0\n> SA 0 1\n< A 1 1\nport 1\n< A 1 1\n> R 1\n> none\nstat dropped_limit "
			"1\nstat evicted "
			"0\nstat clients 2\n" },
	{ "a source has room again after a close", "limits source=1\n" OPEN "< R 1\nport 1\n" OPEN },
	{ "a source is a /64 in IPv6",
			"v6\nlimits source=1\n" OPEN "port 1\n< S 0\n> none\nsource 2\n< S 0\n> SA 0 1\n" },
	{ "tcp-inbuf-max-size: the longest kept input goes",
			"limits inbuf=1024\n" OPEN "< A 1 1 len=9\nread 9 use=0\n> A 1 10\nport 1\n" OPEN
			"< A 1 1 len=9\nread 9 use=0\n> A 1 10\nport 2\n" OPEN
			"< A 1 1 len=9\nread 9 use=0\n> A 1 10\nport 0\n> RA 1\nstat inbuf 1024\nstat dropped_inbuf "
			"1\n" },
	{ "tcp-inbuf-max-size: input that doesn't fit at all ends its own connection",
			"limits inbuf=1024\n" OPEN
			"< A 1 1 len=2000\nread 2000 use=0\n> RA 1\nstat inbuf 0\nstat clients 0\n" },
	{ "tcp-inbuf-max-size: data out of order ends no connection",
			"limits inbuf=512\n" OPEN "< A 1 1 len=9\nread 9 use=0\n> A 1 10\nport 1\n" OPEN
			"< A 11 1 len=9\n> A 1 1\nstat clients 2\nstat inbuf 512\n" },
	{ "tcp-outbuf-max-size: no more than that is taken",
			"limits outbuf=1000\n" OPEN "< A 1 1 len=9\nread 9\nroom 1000\nwrite 1001 no\nwrite "
			"1000\nwrite 1 no\nroom 0\nstat outbuf 1000\n" },
	{ "tcp-outbuf-max-size: the oldest unread reply of the greediest source makes room, at once",
			"limits outbuf=270000\n" OPEN "< A 1 1 win=0 len=9\nread 9\nwrite 65000\n> A 1 10\n"
			"port 1\n" OPEN "< A 1 1 win=0 len=9\nread 9\nwrite 65000\n> A 1 10\n"
			"source 2\nport 2\n" OPEN "< A 1 1 win=0 len=9\nread 9\nwrite 65000\n> A 1 10\n"
			"source 3\nport 3\n" OPEN "< A 1 1 win=0 len=9\nread 9\nwrite 65000\n> A 1 10\n"
			"source 4\nport 4\n" OPEN "< A 1 1 len=9\nread 9\nwrite 12000\nstat dropped_outbuf 1\n"
			"> A 1 10 len=1460\nsource 1\nport 0\n> RA 1\nstat clients 4\n" },
	{ "tcp-outbuf-max-size: a short reply never waits",
			"limits outbuf=70000 out_source=70000\n" OPEN
			"< A 1 1 win=0 len=9\nread 9\nwrite 65537\n> A 1 10\nport 1\n" OPEN
			"< A 1 1 len=9\nread 9\nroom 65537\nwrite 56\n> A 1 10 len=56\nstat dropped_outbuf 0\n"
			"< A 10 57 len=9\nread 9\nwrite 5000\n> A 57 19 len=1460\nport 0\n> RA 1\n"
			"stat dropped_outbuf 1\n" },
	{ "tcp-outbuf-max-size: the greediest source itself waits with what it pipelines",
			"limits outbuf=70000\n" OPEN "< A 1 1 len=9\nread 9\nwrite 30000\ndrain\n< A 10 1 len=9\n"
			"read 9 use=0\nnext none\nroom 40000\n< A 19 14601 len=1\nread 10 use=0\ndrain\n< A 20 30001\n"
			"next\nread 10\nstat dropped_outbuf 0\n" },
	{ "a source's share of the output: pipelining waits for it",
			"limits out_source=100000\n" OPEN
			"< A 1 1 win=0 len=9\nread 9\nwrite 60000\n> A 1 10\nport 1\n" OPEN
			"< A 1 1 win=0 len=9\nread 9\nwrite 20000\n> A 1 10\n< A 10 1 win=0 len=9\nread 9 use=0\n> A 1 "
			"19\n"
			"next none\nport 0\n< R 10\nnext\nport 1\nread 9\nwrite 65537\nstat dropped_outbuf 0\n" },
	{ "… and a reply to one that has none goes beyond it",
			"limits out_source=100000\n" OPEN
			"< A 1 1 win=0 len=9\nread 9\nwrite 65000\n> A 1 10\ntime +400ms\ndrain\nport 1\n" OPEN
			"< A 1 1 win=0 len=9\nread 9\nwrite 65000\n> A 1 10\nstat dropped_outbuf 0\nstat clients 2\n" },
	{ "… for which those of the source that have stalled stay while half of all is free",
			"limits out_source=100000\n" OPEN
			"< A 1 1 win=0 len=9\nread 9\nwrite 65000\n> A 1 10\ntime +600ms\ndrain\nport 1\n" OPEN
			"< A 1 1 len=9\nread 9\nwrite 65000\nstat dropped_outbuf 0\nstat clients 2\n" },
	{ "… and go when it isn't",
			"limits out_source=100000 outbuf=250000\n" OPEN
			"< A 1 1 win=0 len=9\nread 9\nwrite 65000\n> A 1 10\nsource 2\nport 2\n" OPEN
			"< A 1 1 win=0 len=9\nread 9\nwrite 65000\n> A 1 10\ntime +600ms\ndrain\nsource 1\nport "
			"1\n" OPEN
			"< A 1 1 len=9\nread 9\nwrite 65000\nport 0\ndrain\nstat dropped_outbuf 1\nstat clients 2\n"
			"source 2\nport 2\n< A 10 1\n> A 1 10 len=1460\n" },
	{ "… also peers that take next to nothing", "limits out_source=100000 outbuf=250000\n" OPEN
						    "< A 1 1 win=0 len=9\nread 9\nwrite 65000\n> A 1 10\n< A 10 "
						    "1 win=1\ndrain\ntime +300ms\ndrain\n"
						    "< A 10 200 win=1\ndrain\ntime +300ms\ndrain\nport 1\n" OPEN
						    "< A 1 1 len=9\nread 9\nwrite 65000\nstat dropped_outbuf 1\n" },
	{ "… but not peers that are only slow",
			"limits out_source=100000 outbuf=250000\n" OPEN
			"< A 1 1 win=6000 len=9\nread 9\nwrite 65000\ndrain\ntime +300ms\ndrain\n< A 10 4381 win=6000\n"
			"drain\ntime +300ms\ndrain\nport 1\n" OPEN
			"< A 1 1 len=9\nread 9\nwrite 65000\nstat dropped_outbuf 0\n" },
	{ "a source's share of the input: it loses its own longest kept",
			"limits in_source=131072\n" OPEN "< A 1 1 len=9000\nread 9000 use=0\n< A 9001 1 len=9000\n"
			"read 18000 use=0\n< A 18001 1 len=9000\nread 27000 use=0\n< A 27001 1 len=9000\n"
			"read 36000 use=0\ndrain\nstat inbuf 131072\nsource 2\nport 2\n" OPEN
			"< A 1 1 len=9\nread 9 use=0\n> A 1 10\nsource 1\nport 1\n" OPEN
			"< A 1 1 len=9\nread 9 use=0\n> A 1 10\nport 0\n> RA 1\nstat inbuf 1024\n"
			"stat dropped_inbuf 1\nstat clients 2\n" },
	{ "tcp-inbuf-max-size: the greediest source loses its longest kept input",
			"limits inbuf=2048\n" OPEN "< A 1 1 len=9\nread 9 use=0\n> A 1 10\nsource 2\nport 1\n" OPEN
			"< A 1 1 len=9\nread 9 use=0\n> A 1 10\nport 2\n" OPEN
			"< A 1 1 len=9\nread 9 use=0\n> A 1 10\nport 3\n" OPEN
			"< A 1 1 len=9\nread 9 use=0\n> A 1 10\nsource 3\nport 4\n" OPEN
			"< A 1 1 len=9\nread 9 use=0\n> A 1 10\nsource 2\nport 1\n> RA 1\nstat dropped_inbuf 1\nstat "
			"inbuf 2048\n" },
	{ "SYN-ACKs are sent again four times",
			"limits half_open=2\n< S 0\n> SA 0 1\ntime +1100ms\n> SA 0 1\ntime +2s\n> SA 0 1\ntime +4s\n> "
			"SA 0 1\ntime "
			"+8s\n> SA 0 1\ntime +16s\n> none\nstat gave_up 1\nstat half_open 0\n" },
	{ "… twice when half-open connections are many: forged sources shall not get five for one",
			"limits half_open=2\n< S 0\n> SA 0 1\nport 1\n< S 0\n> SA 0 1\ntime +1100ms\ndrain\ntime "
			"+2s\nport 0\n> SA "
			"0 1\nport 1\n> SA 0 1\ntime +4s\nport 1\n> SA 0 1\n> none\nstat gave_up 1\nstat half_open "
			"1\n" },
	{ "half-open connections of too many are forgotten", "limits half_open=2 clients=2\n< S 0\n> SA 0 1\nport 1\n< "
							     "S 0\n> SA 0 1\nport 2\n< S 0 mss=1460\n> SA 0 1\n< "
							     "A 1 1 len=4\nread 4\nstat half_open 1\nstat clients 2\n> "
							     "A 1 5\n> none\nport 0\n< A 1 1\n> R 1\n" },
	{ "the connection of a number that was used before",
			OPEN "< A 1 1 len=9\nread 9\nabort\n> RA 1\nagain isn=1000\n< S 0\n> SA 0 1\n< A 1 1\nwrite 5 "
			     "no\nroom "
			     "0\nclose\nabort\n> none\nstat clients 1\n" },
	{ "the path of the last segment is the one to answer on",
			OPEN "mtu 1200\n< A 1 1 len=9\nread 9\nwrite 2000\n> A 1 10 len=1160\n" },
};
