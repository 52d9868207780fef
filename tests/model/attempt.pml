/* The life of an attempt (scheduler/PROTOCOL.md) as a model that spin searches to its end.
 *
 * In it stand two hosts with one GPU each, their agents and supervisors; a log that hands out at
 * most TOKENS tokens, to gangs of one host or both; two leaders, the first of which is replaced at
 * some moment and does not know it; a clock. run.py beside this file runs it. Flags leave out one
 * rule each: spin must find a counter-example then, and none with all of them in.
 *
 * What must hold: no GPU is bound to two attempts at once, where the log binds a GPU (owner) and so
 * do ranks that live on it; what the log frees is empty; of the attempts of one job (ONE_JOB) at
 * most one completes.
 *
 * How it is made small
 * - The log is one committed sequence; an entry is applied where it is written. Raft has its own
 *   simulator (tests/scheduler/raft). Only the leader of the latest term writes entries.
 * - Every message of a leader is a function of the log, and what the log once said stays the reason
 *   of some message. So the network is the log's past: what any leader could ever have sent, an
 *   agent may receive at any later time, any number of times, in any order, or never. That is loss,
 *   delay, repetition and the voice of a replaced leader in one. Likewise what an agent's durable
 *   record says may be counted at any later time.
 * - A majority answers a heartbeat round only if it began before a later leader was elected, for
 *   the two majorities share a voter. A round begun after a renewal came thus proves that the
 *   leader was still the latest at some moment after that renewal was sent. The answer is given at
 *   that moment here, and arrives any time later. The renewal counts as sent in the same tick: an
 *   earlier send gives a shorter hold, and ranks may end at any time anyway.
 * - An agent may abort a READY token at any time, and ranks may end at any time: a Stop, a refusal,
 *   a failure and a revocation need no step of their own.
 * - Time is ticks that pass for all alike. Ranks are gone GRACE after HOLD, and Expire waits for
 *   both; what began first ends first. Of all voters' timers the earliest possible one is kept: it
 *   begins with the entry Condemn.
 *
 * The rules in it: steps 1 to 5 of its section 2; rule 1 (the hold begins at the first
 * send of Ready), rules 2 and 3 (READY does not survive a restart; Register re-keys or ends),
 * rule 4 (late Start), rule 6 (what completes, what is tried again), rule 7 for whole devices,
 * rule 9 (Pardon drops the timer); Condemn and Expire as two entries; the hold counted from the
 * send of a renewal; the majority round; no answer before the own-term entry. That Ready waits for
 * older ranks is a second line of defence: here the first one holds, and no older ranks are left.
 * Rule 2 has no flag: what must hold here holds without it too.
 *
 * What it leaves out: slots of a GPU, several grants on one host, drift of clocks, ranks that
 * cannot be killed, exit 0 after a signal (rule 5), isolation `keep`, cloned and restored disks,
 * quorum recovery, relays, and whether good things ever happen: run.py only looks that each
 * WITNESS was reached. */

#ifndef TOKENS
#define TOKENS 2
#endif
#define TOKENS_MAX 3
#ifndef HOLD
#define HOLD 2
#endif
#ifndef GRACE
#define GRACE 1
#endif
#ifndef HOSTS
#define HOSTS 2
#endif
#ifndef LEADERS
#define LEADERS 2
#endif
#ifndef RESTARTS
#define RESTARTS 0
#endif
#define UNTIL_DEAD (HOLD + GRACE)
#define DUE 1
#ifdef SHORT_TIMER
#define NOT_DUE (DUE + HOLD)
#else
#define NOT_DUE (DUE + HOLD + GRACE)
#endif

/* With WITNESSES the search says, once each, which interesting places it came to. */
#ifdef WITNESSES
c_decl {
  \#include <stdio.h>
  static unsigned char witnessed[16];
}
#define WITNESS(number, name) \
  c_code { if (!witnessed[number]) { witnessed[number] = 1; printf("witness " name "\n"); } }
#else
#define WITNESS(number, name) skip
#endif

/* ---- the log, as applied ---- */

#define NONE 0
#define RESERVED 1
#define STARTED 2
#define STOPPING 3
#define ENDED 4
byte attempt[TOKENS_MAX + 1]; /* State of each token, from 1. */
byte tokens = 0;              /* How many were decided. */
#ifdef ONE_JOB
bit completed = 0;            /* Some attempt of the job did. */
#endif

/* A host's share of an attempt. */
#define NO_MEMBER 0
#define OUTSTANDING 1
#define EXITED_0 2   /* Finish: exit 0. */
#define FAILED 3     /* Finish with anything else, expired, or proven lost by a registration. */
#define CALLED_OFF 4 /* The attempt was aborted. */
#define AT(h, t) ((h) * TOKENS_MAX + (t) - 1)
byte share[2 * TOKENS_MAX];
byte owner[2];       /* The token that holds the host's GPU; 0 = free. */
byte timer[2];       /* Of the Condemn in force: counts down to DUE. 0 = none. */
#ifdef TIMER_SURVIVES_PARDON
byte old_timer[2];
#endif
#if RESTARTS
bit registered[2];        /* The generation that the log knows. */
bit pair[2 * TOKENS_MAX]; /* The start of the agent that Decide bound: its generation. */
byte rekeyed[2];          /* The token that a later start of the agent was bound to. */
#endif

/* ---- who leads ---- */

byte leader = 1; /* Of the latest term; only it can commit. */
#if defined(NO_MAJORITY_ROUND) || defined(ROUND_BEFORE_RECEIPT)
#define REPLACED_ANSWERS
byte believed[2]; /* What the replaced leader would acknowledge: its log stands still. */
#endif
#ifdef NO_OWN_TERM_ENTRY
bit own_term = 1; /* It has applied an entry of its own term. */
#else
#define own_term 1 /* Until then a leader says and writes nothing: no state worth a place. */
#endif

/* ---- the hosts ---- */

#define NO_RECORD 0
#define READY 1
#define RUNNING 2 /* From the launch until every rank is gone, told to stop or not. */
#define DONE_0 3  /* ENDED, every rank by exit 0. */
#define DONE 4    /* ENDED otherwise. */
#define ABORTED 5
byte grant[2 * TOKENS_MAX];
bit said_ready[2 * TOKENS_MAX];
byte left[2 * TOKENS_MAX]; /* Ticks until its supervisor has killed all; above GRACE: hold. */
byte fence[2];             /* The highest token obeyed. */
byte renewing[2];          /* The token of an acknowledged renewal, not arrived yet. */
byte renewal_left[2];      /* `left`, counted from the send of that renewal. */
#if RESTARTS
bit generation[2];
byte restarts = 0;
#endif

byte mine = 0; /* The token that a step is about; 0 between steps. */

#define IS_ALIVE(h, t) (grant[AT(h, t)] == RUNNING)
#define HAS_HOLD(h, t) (left[AT(h, t)] > GRACE)
#define IS_MISSED(h, t) (share[AT(h, t)] == OUTSTANDING)
#define IS_OVER(h, t) (share[AT(h, t)] > OUTSTANDING)
#define WAS_STARTED(h, t) \
  (attempt[t] > RESERVED && share[AT(h, t)] != NO_MEMBER && share[AT(h, t)] != CALLED_OFF)

/* The log binds, or bound, the token to this start of the agent. */
#if RESTARTS
#define IS_DECIDED_FOR(h, t) (share[AT(h, t)] != NO_MEMBER && pair[AT(h, t)] == generation[h])
#define IS_BOUND_TO(h, t) (IS_DECIDED_FOR(h, t) || rekeyed[h] == t)
#else
#define IS_DECIDED_FOR(h, t) (share[AT(h, t)] != NO_MEMBER)
#define IS_BOUND_TO(h, t) IS_DECIDED_FOR(h, t)
#endif

#define OTHERS_ALIVE(h, t) \
  ((t != 1 && IS_ALIVE(h, 1)) || (t != 2 && IS_ALIVE(h, 2)) || (t != 3 && IS_ALIVE(h, 3)))

#include "leader.pml"
#include "host.pml"

init {
  atomic {
    run Leader(1);
#if LEADERS > 1
    run Leader(2);
#endif
    run Host(0);
#if HOSTS > 1
    run Host(1);
#endif
    run Clock()
  }
}
