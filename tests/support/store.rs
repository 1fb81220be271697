//! What tests that put something between a ledger and its store have in common.

pub(crate) use hermes_workflows::{
    core::{
        digest::Digest,
        fold::Head,
        ids::{RunId, RunNo, Seq},
        journal::Record,
        people::Need,
    },
    executor::LedgerError,
};

/// All of a store but `commit`, handed on.
macro_rules! reads_from {
    ($field:ident) => {
        fn path(&self) -> Option<&std::path::Path> {
            self.$field.path()
        }
        fn name(&self) -> String {
            self.$field.name()
        }
        fn open_run(
            &self,
            id: &$crate::store::RunId,
        ) -> Result<Option<$crate::store::RunNo>, $crate::store::LedgerError> {
            self.$field.open_run(id)
        }
        fn next_run(&self) -> Result<$crate::store::RunNo, $crate::store::LedgerError> {
            self.$field.next_run()
        }
        fn runs(
            &self,
        ) -> Result<Vec<($crate::store::RunId, $crate::store::RunNo)>, $crate::store::LedgerError> {
            self.$field.runs()
        }
        fn heads(
            &self,
        ) -> Result<Vec<($crate::store::RunNo, $crate::store::Head)>, $crate::store::LedgerError> {
            self.$field.heads()
        }
        fn head(
            &self,
            run: $crate::store::RunNo,
        ) -> Result<Option<$crate::store::Head>, $crate::store::LedgerError> {
            self.$field.head(run)
        }
        fn needs(
            &self,
            run: Option<$crate::store::RunNo>,
        ) -> Result<Vec<($crate::store::RunNo, $crate::store::Need)>, $crate::store::LedgerError> {
            self.$field.needs(run)
        }
        fn records(
            &self,
            run: $crate::store::RunNo,
            visit: &mut dyn FnMut(
                $crate::store::Seq,
                $crate::store::Record,
            ) -> Result<(), $crate::store::LedgerError>,
        ) -> Result<(), $crate::store::LedgerError> {
            self.$field.records(run, visit)
        }
        fn body(
            &self,
            run: $crate::store::RunNo,
            seq: $crate::store::Seq,
        ) -> Result<$crate::store::Record, $crate::store::LedgerError> {
            self.$field.body(run, seq)
        }
        fn memo(
            &self,
            fingerprint: &$crate::store::Digest,
        ) -> Result<Option<($crate::store::RunNo, $crate::store::Seq)>, $crate::store::LedgerError> {
            self.$field.memo(fingerprint)
        }
        fn blob(
            &self,
            digest: &$crate::store::Digest,
        ) -> Result<Option<Vec<u8>>, $crate::store::LedgerError> {
            self.$field.blob(digest)
        }
        fn blobs(
            &self,
            visit: &mut dyn FnMut($crate::store::Digest, &[u8]),
        ) -> Result<(), $crate::store::LedgerError> {
            self.$field.blobs(visit)
        }
    };
}
pub(crate) use reads_from;
