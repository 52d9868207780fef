/* What leaders do: the entries they write, and the renewals they acknowledge. See attempt.pml. */

/* ---- what entries do ---- */

/* The log gives a share up. */
inline give_up(h, t, how) {
#ifndef ONLY_TWO_BOUND
  assert(!IS_ALIVE(h, t)); /* What the log frees is empty. */
#endif
  share[AT(h, t)] = how;
  said_ready[AT(h, t)] = 0;
  owner[h] = 0;
  timer[h] = 0
}

#define HAS_SUCCEEDED(h, t) (share[AT(h, t)] == NO_MEMBER || share[AT(h, t)] == EXITED_0)

/* ENDED is never left. What nobody asks for any more is made equal: fewer states. */
inline end_attempt(t) {
  attempt[t] = ENDED;
  if :: share[AT(0, t)] == EXITED_0 -> share[AT(0, t)] = FAILED :: else fi;
  if :: share[AT(1, t)] == EXITED_0 -> share[AT(1, t)] = FAILED :: else fi
}

/* Rule 6: all exit 0 completes, from STARTED or STOPPING alike. */
inline settle(t) {
  if
  :: IS_MISSED(0, t) || IS_MISSED(1, t)
  :: else ->
     if
     :: HAS_SUCCEEDED(0, t) && HAS_SUCCEEDED(1, t) ->
        printf("log: attempt %d completed\n", t);
        WITNESS(0, "completed");
#ifdef ONE_JOB
        assert(!completed); /* Else two attempts of one job completed. */
        completed = 1;
#endif
        end_attempt(t)
     :: else ->
        if
        :: attempt[t] == STOPPING -> end_attempt(t); WITNESS(1, "ended_after_stop")
        :: else
        fi
     fi
  fi
}

/* Rule 6: another attempt of the job, when no older one can complete any more. */
#ifdef RETRY_ON_SILENCE
#define IS_BROKEN(t) (attempt[t] == STOPPING)
#else
#define IS_BROKEN(t) \
  (attempt[t] == STOPPING && (share[AT(0, t)] == FAILED || share[AT(1, t)] == FAILED))
#endif
#define GIVES_WAY(t) (attempt[t] == NONE || attempt[t] == ENDED || IS_BROKEN(t))
#ifdef ONE_JOB
#define MAY_DECIDE (!completed && GIVES_WAY(1) && GIVES_WAY(2) && GIVES_WAY(3))
#else
#define MAY_DECIDE 1
#endif

inline bind(h, t) {
  assert(!OTHERS_ALIVE(h, t)); /* Else the GPU is bound to two attempts. */
  owner[h] = t;
  share[AT(h, t)] = OUTSTANDING;
#if RESTARTS
  pair[AT(h, t)] = registered[h];
#endif
  if
  :: fence[h] > 0 -> WITNESS(2, "gpu_granted_again")
  :: else
  fi
}

inline call_off(t) {
  if :: IS_MISSED(0, t) -> give_up(0, t, CALLED_OFF) :: else fi;
  if :: IS_MISSED(1, t) -> give_up(1, t, CALLED_OFF) :: else fi;
  end_attempt(t)
}

/* ---- what a leader writes ---- */

#define LEADS(me) (leader == me && own_term)

/* Both hosts are alike: the first gang has host 0 in it. */
inline decide(me, first, second) {
  d_step {
    LEADS(me) && tokens < TOKENS && (!first || owner[0] == 0) && (!second || owner[1] == 0) &&
        (first || tokens > 0) && MAY_DECIDE ->
    tokens++;
    attempt[tokens] = RESERVED;
    if
    :: first && second -> printf("log: Decide: token %d on both hosts\n", tokens)
    :: first && !second -> printf("log: Decide: token %d on host 0\n", tokens)
    :: !first -> printf("log: Decide: token %d on host 1\n", tokens)
    fi;
    if :: first -> bind(0, tokens) :: else fi;
    if :: second -> bind(1, tokens) :: else fi
  }
}

#define IS_READY(h, t) (share[AT(h, t)] == NO_MEMBER || said_ready[AT(h, t)])
#ifdef ABORT_AFTER_START
#define MAY_ABORT(t) (attempt[t] == RESERVED || attempt[t] == STARTED)
#else
#define MAY_ABORT(t) (attempt[t] == RESERVED)
#endif

inline write_about(me, t) {
  if
  :: d_step {
       LEADS(me) && attempt[t] == RESERVED && IS_READY(0, t) && IS_READY(1, t) ->
       attempt[t] = STARTED;
       said_ready[AT(0, t)] = 0;
       said_ready[AT(1, t)] = 0;
       printf("log: Start %d\n", t);
       WITNESS(3, "started")
     }
  :: d_step { /* A refusal, the deadline, a cancel, a condemned member. */
       LEADS(me) && MAY_ABORT(t) ->
       printf("log: Abort %d\n", t);
       call_off(t)
     }
  :: d_step { /* A failed rank, a silent host, a cancel, the time limit. */
       LEADS(me) && attempt[t] == STARTED ->
       attempt[t] = STOPPING;
       printf("log: Stop %d\n", t);
       settle(t)
     }
  fi
}

#define IS_HELD(h) (owner[h] != 0 && attempt[owner[h]] > RESERVED)
#define GRANT_OF_OWNER(h) grant[AT(h, owner[h])]

inline write_about_host(me, h) {
  if
  :: d_step { /* Rule 4: an ABORTED one answers Start and Stop so. */
       LEADS(me) && IS_HELD(h) && GRANT_OF_OWNER(h) >= DONE_0 ->
       mine = owner[h];
       printf("log: Finish %d of host %d\n", mine, h);
       give_up(h, mine, (grant[AT(h, mine)] == DONE_0 -> EXITED_0 : FAILED));
       settle(mine);
       mine = 0
     }
  :: d_step { /* From here on a leader refuses the host's renewals. */
       LEADS(me) && IS_HELD(h) && !timer[h] ->
       timer[h] = NOT_DUE;
#ifdef TIMER_SURVIVES_PARDON
       timer[h] = (old_timer[h] -> old_timer[h] : NOT_DUE);
#endif
       printf("log: Condemn %d on host %d\n", owner[h], h);
       WITNESS(4, "condemned")
     }
  :: d_step { /* Rule 9: heard from again, so the timer is dropped. */
       LEADS(me) && timer[h] ->
       printf("log: Pardon %d on host %d\n", owner[h], h);
#ifdef TIMER_SURVIVES_PARDON
       old_timer[h] = timer[h];
#endif
       timer[h] = 0;
       WITNESS(5, "pardoned")
     }
  :: d_step {
       LEADS(me) && timer[h] == DUE ->
       mine = owner[h];
       printf("log: Expire %d on host %d\n", mine, h);
       give_up(h, mine, FAILED);
       settle(mine);
       mine = 0;
       WITNESS(6, "expired")
     }
  fi
}

#ifdef REGISTER_ENDS_ALL
#define LIVES_ON(h, t) 0
#else
#define LIVES_ON(h, t) (grant[AT(h, t)] >= RUNNING && grant[AT(h, t)] != ABORTED)
#endif

/* Rules 2 and 3: the hello of a new start names the tokens that live on; the others end here. */
inline register_host(me, h) {
#if RESTARTS
  d_step {
    LEADS(me) && registered[h] != generation[h] ->
    registered[h] = generation[h];
    mine = owner[h];
    printf("log: Register host %d\n", h);
    if
    :: mine == 0
    :: mine != 0 && attempt[mine] == RESERVED -> call_off(mine)
    :: mine != 0 && attempt[mine] > RESERVED ->
       if
       :: LIVES_ON(h, mine) -> rekeyed[h] = mine; WITNESS(7, "rekeyed")
       :: else -> give_up(h, mine, FAILED); settle(mine)
       fi
    fi;
    mine = 0
  }
#else
  false
#endif
}

/* ---- what a leader answers ---- */

#define IS_RENEWABLE(h, t) (IS_ALIVE(h, t) || grant[AT(h, t)] == READY)
#define IS_NEWER(h, t) (renewing[h] != t || renewal_left[h] < UNTIL_DEAD)

inline acknowledge(h, t) {
  renewing[h] = t;
  renewal_left[h] = UNTIL_DEAD
}

inline answer_renewal(me, h, t) {
  if
  :: d_step {
       LEADS(me) && IS_RENEWABLE(h, t) && IS_BOUND_TO(h, t) && owner[h] == t && !timer[h] &&
           IS_NEWER(h, t) ->
       printf("leader %d: acknowledges a renewal of %d by host %d\n", me, t, h);
       acknowledge(h, t)
     }
#ifdef REPLACED_ANSWERS
  :: d_step {
       me < leader && IS_RENEWABLE(h, t) && believed[h] == t && IS_NEWER(h, t) ->
       printf("leader %d, replaced: acknowledges a renewal of %d by host %d\n", me, t, h);
#ifdef ROUND_BEFORE_RECEIPT
       believed[h] = 0; /* By the one round that was begun in time. */
#endif
       acknowledge(h, t)
     }
#endif
#ifdef NO_OWN_TERM_ENTRY
  :: d_step { /* A Condemn in its log may not be known to it as committed. */
       me == leader && !own_term && IS_RENEWABLE(h, t) && IS_BOUND_TO(h, t) && owner[h] == t &&
           IS_NEWER(h, t) ->
       printf("leader %d, new: acknowledges a renewal of %d by host %d\n", me, t, h);
       acknowledge(h, t)
     }
#endif
  fi
}

inline take_over(me) {
#ifdef REPLACED_ANSWERS
  believed[0] = (timer[0] -> 0 : owner[0]);
  believed[1] = (timer[1] -> 0 : owner[1]);
#endif
#ifdef NO_OWN_TERM_ENTRY
  own_term = 0;
#endif
  leader = me;
  printf("leader %d: elected\n", me)
}

proctype Leader(byte me) {
  do
  :: d_step { leader < me -> take_over(me) }
#ifdef NO_OWN_TERM_ENTRY
  :: d_step { leader == me && !own_term -> own_term = 1 }
#endif
  :: decide(me, 1, 0)
#if HOSTS > 1
  :: decide(me, 0, 1)
  :: decide(me, 1, 1)
#endif
  :: write_about(me, 1)
  :: write_about(me, 2)
  :: write_about(me, 3)
  :: write_about_host(me, 0)
  :: write_about_host(me, 1)
  :: register_host(me, 0)
  :: register_host(me, 1)
  :: answer_renewal(me, 0, 1)
  :: answer_renewal(me, 0, 2)
  :: answer_renewal(me, 0, 3)
  :: answer_renewal(me, 1, 1)
  :: answer_renewal(me, 1, 2)
  :: answer_renewal(me, 1, 3)
  od
}
