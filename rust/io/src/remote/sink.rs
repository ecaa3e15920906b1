//! An object being uploaded.

use bytes::{Bytes, BytesMut};
use object_store::{MultipartUpload, ObjectStoreExt};
use tokio::task::JoinSet;

use super::object::broken_off;
use super::target::from_store;
use super::{Target, runtime};
use crate::{IoError, IoErrorKind, Result, Sink};

/// Objects up to this length are put in one request, longer ones in parts of it.
const PART: usize = 8 << 20;

/// How many parts are on their way at once, each held in memory.
const PARALLELISM: usize = 4;

/// Gathers parts and uploads them while more are written. Nothing shows before the end.
#[derive(Debug)]
pub(crate) struct RemoteSink {
    target: Target,
    buffer: BytesMut,
    upload: Option<Upload>,
    position: u64,
    failed: bool,
}

/// A multipart upload that has begun.
#[derive(Debug)]
struct Upload {
    parts: JoinSet<object_store::Result<()>>,
    upload: Box<dyn MultipartUpload>,
}

impl RemoteSink {
    pub(crate) fn new(target: Target) -> Self {
        Self {
            target,
            buffer: BytesMut::new(),
            upload: None,
            position: 0,
            failed: false,
        }
    }

    /// Sends a part on its way, waiting while too many are. A failure ends the upload.
    fn send(&mut self, part: Bytes) -> Result<()> {
        let (target, upload) = (self.target.clone(), self.upload.take());
        let sent = runtime::wait(&self.target.location, async move {
            let mut upload = match upload {
                Some(upload) => upload,
                None => Upload::begin(&target).await?,
            };
            upload.send(&target.location, part).await?;
            Ok(upload)
        });
        let upload = sent.flatten().inspect_err(|_| self.failed = true)?;
        self.upload = Some(upload);
        Ok(())
    }

    fn send_full_part(&mut self) -> Result<()> {
        let part = std::mem::take(&mut self.buffer).freeze();
        self.send(part)
    }

    fn refuse_if_failed(&self) -> Result<()> {
        if self.failed {
            let message = "an earlier write failed, so the object cannot be completed";
            return Err(IoError::new(
                IoErrorKind::Other,
                &self.target.location,
                message,
            ));
        }
        Ok(())
    }
}

impl Upload {
    async fn begin(target: &Target) -> Result<Self> {
        let begun = target.store.put_multipart(&target.key).await;
        let upload = begun.map_err(|e| from_store(&target.location, e))?;
        Ok(Self {
            parts: JoinSet::new(),
            upload,
        })
    }

    async fn send(&mut self, location: &str, part: Bytes) -> Result<()> {
        self.wait_for_fewer_than(PARALLELISM, location).await?;
        self.parts.spawn(self.upload.put_part(part.into()));
        Ok(())
    }

    /// Waits until fewer than `limit` parts are on their way; when one failed, gives up.
    async fn wait_for_fewer_than(&mut self, limit: usize, location: &str) -> Result<()> {
        while self.parts.len() >= limit
            && let Some(finished) = self.parts.join_next().await
        {
            let sent = match finished {
                Ok(sent) => sent.map_err(|e| from_store(location, e)),
                Err(e) => Err(broken_off(location, e)),
            };
            if sent.is_err() {
                self.abort().await;
            }
            sent?;
        }
        Ok(())
    }

    async fn complete(mut self, location: &str) -> Result<()> {
        self.wait_for_fewer_than(1, location).await?;
        let completed = self.upload.complete().await;
        if completed.is_err() {
            self.abort().await;
        }
        completed.map(|_| ()).map_err(|e| from_store(location, e))
    }

    /// Removes the parts, as far as the store lets us: the failure that led here counts.
    async fn abort(&mut self) {
        self.parts.abort_all();
        let _ = self.upload.abort().await;
    }
}

impl Sink for RemoteSink {
    fn location(&self) -> &str {
        &self.target.location
    }

    fn write(&mut self, mut bytes: &[u8]) -> Result<()> {
        self.refuse_if_failed()?;
        while !bytes.is_empty() {
            if self.buffer.len() == PART {
                self.send_full_part()?;
            }
            let (now, later) = bytes.split_at(bytes.len().min(PART - self.buffer.len()));
            self.buffer.extend_from_slice(now);
            self.position += now.len() as u64;
            bytes = later;
        }
        Ok(())
    }

    fn position(&self) -> u64 {
        self.position
    }

    fn finish(mut self: Box<Self>, _sync: bool) -> Result<u64> {
        self.refuse_if_failed()?;
        if self.upload.is_some() {
            self.send_full_part()?;
        }
        let location = self.target.location.clone();
        match self.upload.take() {
            Some(upload) => {
                let complete = async move { upload.complete(&location).await };
                runtime::wait(&self.target.location, complete)??;
            }
            None => {
                let bytes = std::mem::take(&mut self.buffer).freeze();
                self.target
                    .run(|store, key| async move { store.put(&key, bytes.into()).await })?;
            }
        }
        Ok(self.position)
    }
}

impl Drop for RemoteSink {
    fn drop(&mut self) {
        if let Some(mut upload) = self.upload.take() {
            // Nobody is left to hear of a failure; stores expire what remains.
            let _ = runtime::wait(&self.target.location, async move { upload.abort().await });
        }
    }
}
