//! SOPP: control of the program.

#[rustfmt::skip]
macro_rules! sopp {
    ($then:ident $args:tt) => { $then! { $args gcn5 sopp [
        0x00 s_nop                      () () Hint              [];
        0x01 s_endpgm                   () () End               [];
        0x02 s_branch                   () () Branch            [];
        0x03 s_wakeup                   () () Hint              [];
        0x04 s_cbranch_scc0             () () ConditionalBranch [READS_SCC];
        0x05 s_cbranch_scc1             () () ConditionalBranch [READS_SCC];
        0x06 s_cbranch_vccz             () () ConditionalBranch [READS_VCC];
        0x07 s_cbranch_vccnz            () () ConditionalBranch [READS_VCC];
        0x08 s_cbranch_execz            () () ConditionalBranch [READS_EXEC];
        0x09 s_cbranch_execnz           () () ConditionalBranch [READS_EXEC];
        0x0a s_barrier                  () () Barrier           [];
        0x0b s_setkill                  () () Hint              [];
        0x0c s_waitcnt                  () () Wait              [];
        0x0d s_sethalt                  () () Trap              [];
        0x0e s_sleep                    () () Hint              [];
        0x0f s_setprio                  () () Hint              [];
        0x10 s_sendmsg                  () () Message           [READS_M0];
        0x11 s_sendmsghalt              () () Message           [READS_M0];
        0x12 s_trap                     () () Trap              [];
        0x13 s_icache_inv               () () Cache             [];
        0x14 s_incperflevel             () () Hint              [];
        0x15 s_decperflevel             () () Hint              [];
        0x16 s_ttracedata               () () Hint              [READS_M0];
        0x17 s_cbranch_cdbgsys          () () ConditionalBranch [];
        0x18 s_cbranch_cdbguser         () () ConditionalBranch [];
        0x19 s_cbranch_cdbgsys_or_user  () () ConditionalBranch [];
        0x1a s_cbranch_cdbgsys_and_user () () ConditionalBranch [];
        0x1b s_endpgm_saved             () () End               [];
        0x1c s_set_gpr_idx_off          () () Mode              [];
        0x1d s_set_gpr_idx_mode         () () Mode              [READS_M0 WRITES_M0];
        0x1e s_endpgm_ordered_ps_done   () () End               [];
    ] } };
}
pub(crate) use sopp;
