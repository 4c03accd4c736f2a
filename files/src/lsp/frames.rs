//! The frames of the protocol: a header with a length, then JSON. What cannot be read is reported, and the next header is
//! looked for, so that no client can end the server by a wrong length or a message that is cut.

use std::io::{self, ErrorKind, Read, Write};

use lsp_server::{ErrorCode, Message, ResponseError};
use serde_json::{Value, error::Category};

/// The longest message: a text of the largest size that is read, with escapes.
const MAX_BODY: usize = 64 << 20;

/// The longest header.
const MAX_HEADER: usize = 4 << 10;

/// How much is read at a time.
const PORTION: usize = 8 << 10;

const LENGTH: &[u8] = b"content-length:";

/// The end of a header.
const BLANK: &[u8] = b"\r\n\r\n";

/// What a client has sent, or why that is no message.
pub type Incoming = Result<Message, ResponseError>;

/// An error as the protocol has it.
pub fn refused(code: ErrorCode, message: impl Into<String>) -> ResponseError {
    ResponseError {
        code: code as i32,
        message: message.into(),
        data: None,
    }
}

/// Writes a message.
pub fn write(output: &mut impl Write, mut message: Value) -> io::Result<()> {
    if let Some(fields) = message.as_object_mut() {
        fields.insert("jsonrpc".to_owned(), "2.0".into());
    }
    let text = message.to_string();
    write!(output, "Content-Length: {}\r\n\r\n{text}", text.len())?;
    output.flush()
}

/// The frames of a stream.
pub struct Frames<R> {
    input: R,
    /// What was read and is not used yet.
    waiting: Vec<u8>,
}

impl<R: Read> Frames<R> {
    pub const fn new(input: R) -> Self {
        let waiting = Vec::new();
        Self { input, waiting }
    }

    /// The next frame; `None` at the end of the stream.
    pub fn next(&mut self) -> io::Result<Option<Incoming>> {
        let (end, length) = loop {
            if let Some(header) = header(&self.waiting) {
                break header;
            }
            // The rest may be the first half of a header.
            let used = self.waiting.len().saturating_sub(2 * MAX_HEADER);
            self.waiting.drain(..used);
            if self.read_more()? == 0 {
                return Ok(None);
            }
        };
        // The length may be wrong: after a mistake, the next header is looked for from here on.
        self.waiting.drain(..end);
        let Some(length) = length else {
            let why = format!("Content-Length must be a number, and at most {MAX_BODY}");
            return Ok(Some(Err(refused(ErrorCode::InvalidRequest, why))));
        };
        while self.waiting.len() < length && self.read_more()? > 0 {}
        let read = self.waiting.get(..length).map(serde_json::from_slice);
        if let Some(Ok(_)) = read {
            self.waiting.drain(..length);
        }
        Ok(Some(match read {
            Some(Ok(message)) => Ok(message),
            Some(Err(error)) if error.classify() == Category::Data => {
                Err(refused(ErrorCode::InvalidRequest, "this is no JSON-RPC message"))
            }
            Some(Err(error)) => Err(refused(ErrorCode::ParseError, error.to_string())),
            None => Err(refused(ErrorCode::ParseError, "the message is cut")),
        }))
    }

    fn read_more(&mut self) -> io::Result<usize> {
        let mut portion = [0; PORTION];
        loop {
            match self.input.read(&mut portion) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                read => {
                    self.waiting
                        .extend(portion.iter().take(*read.as_ref().unwrap_or(&0)));
                    return read;
                }
            }
        }
    }
}

/// Where the first complete header ends, and its length if that is right; `None` if there is no complete header.
fn header(bytes: &[u8]) -> Option<(usize, Option<usize>)> {
    let is_length = |word: &[u8]| word.eq_ignore_ascii_case(LENGTH);
    let mut from = 0;
    loop {
        let rest = bytes.get(from..)?;
        from += rest.windows(LENGTH.len()).position(is_length)? + LENGTH.len();
        let rest = bytes.get(from..)?;
        let Some(end) = rest.windows(BLANK.len()).position(|end| end == BLANK) else {
            if rest.len() < MAX_HEADER {
                return None;
            }
            continue;
        };
        let block = rest.get(..end)?;
        // A header that was cut is followed by the next one.
        if end > MAX_HEADER || block.windows(LENGTH.len()).any(is_length) {
            continue;
        }
        let line = block.split(|byte| *byte == b'\r').next()?;
        let number = str::from_utf8(line)
            .ok()
            .and_then(|line| line.trim().parse().ok());
        return Some((
            from + end + BLANK.len(),
            number.filter(|number| *number <= MAX_BODY),
        ));
    }
}
