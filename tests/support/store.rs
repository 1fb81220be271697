//! What tests that put something between a ledger and its store have in common.

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
            id: &hermes_workflows::core::ids::RunId,
        ) -> Result<Option<hermes_workflows::core::ids::RunNo>, hermes_workflows::executor::LedgerError> {
            self.$field.open_run(id)
        }
        fn next_run(
            &self,
        ) -> Result<hermes_workflows::core::ids::RunNo, hermes_workflows::executor::LedgerError> {
            self.$field.next_run()
        }
        fn runs(
            &self,
        ) -> Result<
            Vec<(hermes_workflows::core::ids::RunId, hermes_workflows::core::ids::RunNo)>,
            hermes_workflows::executor::LedgerError,
        > {
            self.$field.runs()
        }
        fn heads(
            &self,
        ) -> Result<
            Vec<(hermes_workflows::core::ids::RunNo, hermes_workflows::core::fold::Head)>,
            hermes_workflows::executor::LedgerError,
        > {
            self.$field.heads()
        }
        fn head(
            &self,
            run: hermes_workflows::core::ids::RunNo,
        ) -> Result<Option<hermes_workflows::core::fold::Head>, hermes_workflows::executor::LedgerError> {
            self.$field.head(run)
        }
        fn needs(
            &self,
            run: Option<hermes_workflows::core::ids::RunNo>,
        ) -> Result<
            Vec<(hermes_workflows::core::ids::RunNo, hermes_workflows::core::people::Need)>,
            hermes_workflows::executor::LedgerError,
        > {
            self.$field.needs(run)
        }
        fn records(
            &self,
            run: hermes_workflows::core::ids::RunNo,
            visit: &mut dyn FnMut(
                hermes_workflows::core::ids::Seq,
                hermes_workflows::core::journal::Record,
            ) -> Result<(), hermes_workflows::executor::LedgerError>,
        ) -> Result<(), hermes_workflows::executor::LedgerError> {
            self.$field.records(run, visit)
        }
        fn body(
            &self,
            run: hermes_workflows::core::ids::RunNo,
            seq: hermes_workflows::core::ids::Seq,
        ) -> Result<hermes_workflows::core::journal::Record, hermes_workflows::executor::LedgerError> {
            self.$field.body(run, seq)
        }
        fn blob(
            &self,
            digest: &hermes_workflows::core::digest::Digest,
        ) -> Result<Option<Vec<u8>>, hermes_workflows::executor::LedgerError> {
            self.$field.blob(digest)
        }
        fn blobs(
            &self,
            visit: &mut dyn FnMut(hermes_workflows::core::digest::Digest, &[u8]),
        ) -> Result<(), hermes_workflows::executor::LedgerError> {
            self.$field.blobs(visit)
        }
    };
}
pub(crate) use reads_from;
