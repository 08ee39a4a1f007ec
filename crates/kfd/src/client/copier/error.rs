//! Why a copy fails.

use std::io;

#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the sentence of each says it")]
pub enum SdmaError {
    #[error("the GPU's family {0} is older than Vega, whose DMA engine is the oldest known")]
    Family(u32),
    #[error("the GPU's DMA engine cannot be set up: {0}")]
    SetUp(io::Error),
    #[error("buffer object {bo} cannot be opened for copying: {error}")]
    Import { bo: usize, error: io::Error },
    #[error("the driver gave no content of buffer object {0}")]
    NoContent(usize),
    #[error("the GPU's DMA engine refuses a copy: {0}")]
    Submit(io::Error),
    #[error("the GPU's DMA engine does not finish a copy: {0}")]
    Wait(io::Error),
}
