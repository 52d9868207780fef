/* What hosts do: agents, their supervisors, and the time that passes for them. See attempt.pml. */

/* ---- what an agent does ---- */

#ifdef NO_TOKEN_CHECK
#define ACCEPTS(h, t) 1
#elif defined(EQUAL_TOKEN)
#define ACCEPTS(h, t) (t >= fence[h])
#else
#define ACCEPTS(h, t) (t > fence[h])
#endif
#if defined(NO_READY_ONLY_START)
#define OBEYS_START(h, t) (grant[AT(h, t)] == READY || grant[AT(h, t)] >= DONE_0)
#elif defined(START_WITHOUT_HOLD)
#define OBEYS_START(h, t) (grant[AT(h, t)] == READY)
#else
#define OBEYS_START(h, t) (grant[AT(h, t)] == READY && HAS_HOLD(h, t))
#endif

inline abort_grant(h, t) {
  grant[AT(h, t)] = ABORTED;
  left[AT(h, t)] = 0
}

inline revoke(h, older) {
  if
  :: grant[AT(h, older)] == READY -> abort_grant(h, older); WITNESS(8, "ready_revoked")
  :: grant[AT(h, older)] == ABORTED -> grant[AT(h, older)] = NO_RECORD
  :: else
  fi
}

/* Rule 1: the hold begins at the first send of Ready. */
inline send_ready(h, t) {
  printf("host %d: Ready %d\n", h, t);
  grant[AT(h, t)] = READY;
  left[AT(h, t)] = UNTIL_DEAD;
  if :: attempt[t] == RESERVED -> said_ready[AT(h, t)] = 1 :: else fi
}

inline launch(h, t) {
  printf("host %d: launches ranks of %d\n", h, t);
  assert(!OTHERS_ALIVE(h, t) && (owner[h] == t || owner[h] == 0)); /* Else bound to two. */
#ifndef ONLY_TWO_BOUND
  assert(owner[h] == t);
#endif
  grant[AT(h, t)] = RUNNING;
  left[AT(h, t)] = (left[AT(h, t)] == 0 -> 1 : left[AT(h, t)]);
  WITNESS(9, "launched")
}

inline hear_about(h, t) {
  if
  :: d_step { /* Assign. Fence and record are durable before anything else. */
       IS_DECIDED_FOR(h, t) && grant[AT(h, t)] == NO_RECORD && ACCEPTS(h, t) ->
       printf("host %d: accepts Assign %d\n", h, t);
       if :: t > 1 -> revoke(h, 1) :: else fi;
       if :: t > 2 -> revoke(h, 2) :: else fi;
       fence[h] = (t > fence[h] -> t : fence[h]);
       send_ready(h, t)
     }
#ifdef HOLD_RESTARTED_BY_ASSIGN
  :: d_step {
       grant[AT(h, t)] == READY && IS_DECIDED_FOR(h, t) && left[AT(h, t)] < UNTIL_DEAD ->
       send_ready(h, t)
     }
#endif
  :: d_step { /* Start. Any other grant answers or drops it. */
       IS_BOUND_TO(h, t) && WAS_STARTED(h, t) && OBEYS_START(h, t) -> launch(h, t)
     }
  :: d_step {
       grant[AT(h, t)] == READY ->
       printf("host %d: aborts %d\n", h, t);
       abort_grant(h, t)
     }
  :: d_step {
       IS_ALIVE(h, t) ->
       printf("host %d: ranks of %d are gone\n", h, t);
       grant[AT(h, t)] = DONE;
       left[AT(h, t)] = 0
     }
  :: d_step {
       IS_ALIVE(h, t) ->
       printf("host %d: ranks of %d exited 0\n", h, t);
       grant[AT(h, t)] = DONE_0;
       left[AT(h, t)] = 0
     }
  :: d_step { /* The acknowledgement of a committed Finish: the record goes, the fence stays. */
       IS_OVER(h, t) && grant[AT(h, t)] >= DONE_0 ->
       printf("host %d: forgets %d\n", h, t);
       grant[AT(h, t)] = NO_RECORD
     }
  fi
}

inline hear_answer(h) {
  d_step {
    renewing[h] ->
    mine = renewing[h];
    printf("host %d: its renewal of %d is acknowledged\n", h, mine);
    if
    :: IS_RENEWABLE(h, mine) ->
#ifdef HOLD_FROM_RECEIPT
       left[AT(h, mine)] = UNTIL_DEAD;
#else
       left[AT(h, mine)] =
           (renewal_left[h] > left[AT(h, mine)] -> renewal_left[h] : left[AT(h, mine)]);
#endif
       WITNESS(11, "hold_renewed")
    :: else
    fi;
    renewing[h] = 0;
    renewal_left[h] = 0;
    mine = 0
  }
}

inline interrupt(h, t) {
  if
  :: grant[AT(h, t)] == READY -> abort_grant(h, t)
  :: else
  fi
}

/* Rule 2. Ranks and their supervisor outlive the agent; what it had asked is forgotten. */
inline restart(h) {
#if RESTARTS
  d_step {
    restarts < RESTARTS && generation[h] == 0 ->
    printf("host %d: its agent restarts\n", h);
    restarts++;
    generation[h] = 1;
#ifdef REPLACED_ANSWERS
    believed[h] = 0; /* Another start of the agent than the replaced leader knows. */
#endif
    interrupt(h, 1);
    interrupt(h, 2);
    interrupt(h, 3);
    renewing[h] = 0;
    renewal_left[h] = 0
  }
#else
  false
#endif
}

proctype Host(byte h) {
  do
  :: hear_about(h, 1)
  :: hear_about(h, 2)
  :: hear_about(h, 3)
  :: hear_answer(h)
  :: restart(h)
  od
}

/* ---- time ---- */

inline pass_grant(h, t) {
  if
  :: left[AT(h, t)] > 0 ->
     left[AT(h, t)]--;
     if
#ifndef START_WITHOUT_HOLD
     :: grant[AT(h, t)] == READY && !HAS_HOLD(h, t) -> /* It stores so when it looks next. */
        printf("host %d: the hold of %d lapses in READY\n", h, t);
        abort_grant(h, t);
        WITNESS(12, "lapsed_ready")
#endif
     :: IS_ALIVE(h, t) && left[AT(h, t)] == 0 -> /* The supervisor's promise. */
        printf("host %d: ranks of %d are killed, their hold is over\n", h, t);
        grant[AT(h, t)] = DONE;
        WITNESS(13, "isolated")
     :: else
     fi
  :: else
  fi
}

inline pass(h) {
  pass_grant(h, 1);
  pass_grant(h, 2);
  pass_grant(h, 3);
  if
  :: renewal_left[h] > 0 -> renewal_left[h]--
  :: else
  fi;
  if
  :: renewing[h] && renewal_left[h] <= GRACE -> /* Too late to be of use. */
#ifndef HOLD_FROM_RECEIPT
     renewing[h] = 0;
#endif
     renewal_left[h] = 0
  :: else
  fi;
  if
  :: timer[h] > DUE -> timer[h]--
  :: else
  fi
}

proctype Clock() {
  do
  :: d_step {
       printf("a tick\n");
       pass(0);
       pass(1)
     }
  od
}
