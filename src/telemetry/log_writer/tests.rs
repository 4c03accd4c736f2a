use std::io::{PipeReader, PipeWriter, Read, Seek};
use std::sync::atomic::AtomicUsize;

use super::*;

/// A log into a pipe, and the end that reads it.
fn log(moment: Duration) -> (PipeReader, LogStream<PipeWriter>) {
    let (reader, stream) = io::pipe().expect("a pipe");
    (reader, LogStream::new(stream, moment))
}

/// Everything that is written into the log and was not read.
fn rest((mut reader, log): (PipeReader, LogStream<PipeWriter>)) -> String {
    drop(log);
    let mut read = String::new();
    reader.read_to_string(&mut read).expect("lines");
    read
}

#[test]
fn lines_are_dropped_and_counted_while_the_pipe_is_full() {
    for is_polled in [false, true] {
        lines_are_dropped_and_counted(is_polled);
    }
}

fn lines_are_dropped_and_counted(is_polled: bool) {
    let (mut reader, log) = log(Duration::ZERO);
    log.is_polled.store(is_polled, Ordering::Relaxed);
    let write = |line: &[u8]| (&log).write_all(line).expect("a line");
    let line = [b'x'; 1000];
    let mut written = 0;
    while log.dropped.get() == 0 {
        write(&line);
        written += 1;
    }
    assert!(written > 4, "a pipe holds more than one piece");
    write(&line);
    assert_eq!(log.dropped.get(), 2);

    let mut read = vec![0; 8 * line.len()];
    reader.read_exact(&mut read).expect("lines");
    write(b"heard");
    assert_eq!(log.dropped.get(), 2);
    drop(log);
    read.clear();
    reader.read_to_end(&mut read).expect("lines");
    assert!(read.ends_with(b"heard"));
}

#[test]
fn a_line_longer_than_a_piece_is_written_whole() {
    let (mut reader, log) = log(Duration::ZERO);
    let line: Vec<u8> = (0..=u8::MAX).cycle().take(3 * PIECE + 5).collect();
    (&log).write_all(&line).expect("a line");
    drop(log);
    let mut read = Vec::new();
    reader.read_to_end(&mut read).expect("the line");
    assert_eq!(read, line);
}

#[test]
fn lines_follow_each_other_in_a_file() {
    let mut file = tempfile::tempfile().expect("a file");
    let log = LogStream::new(file.try_clone().expect("the same file"), Duration::ZERO);
    for line in ["first\n", "second\n"] {
        (&log).write_all(line.as_bytes()).expect("a line");
    }
    file.rewind().expect("the start");
    let mut read = String::new();
    file.read_to_string(&mut read).expect("lines");
    assert_eq!(read, "first\nsecond\n");
    assert_eq!(log.dropped.get(), 0);
}

#[test]
fn lines_of_one_moment_are_left_and_written_together() {
    let (mut reader, log) = log(Duration::MAX);
    let write = |line: &[u8]| (&log).write_all(line).expect("a line");
    write(b"first\n");
    let mut read = [0; 6];
    reader.read_exact(&mut read).expect("the first line");
    assert_eq!(&read, b"first\n");
    write(b"second\n");
    write(b"third\n");
    write(&vec![b'x'; MOST_PENDING]);
    assert_eq!(log.dropped.get(), 1, "too much to be left");
    assert_eq!(log.pending().lines, b"second\nthird\n");
    let mut lines = Vec::new();
    log.write_left(&mut lines);
    write(b"fourth\n");
    log.write_left(&mut lines);
    assert_eq!(rest((reader, log)), "second\nthird\nfourth\n");
}

#[test]
fn a_line_that_comes_while_another_is_written_follows_it() {
    let (reader, log) = log(Duration::ZERO);
    assert!(log.is_written_now(b"first\n"));
    (&log).write_all(b"second\n").expect("a line");
    let mut lines = Vec::new();
    log.write_left(&mut lines);
    log.write_lines(b"first\n");
    log.end_writing();
    (&log).write_all(b"third\n").expect("a line");
    log.write_left(&mut lines);
    assert_eq!(rest((reader, log)), "first\nsecond\nthird\n");
}

#[test]
fn at_the_end_a_line_is_written_that_is_left_to_the_thread() {
    let (reader, log) = log(Duration::ZERO);
    assert!(log.is_written_now(b"cut off\n"));
    (&log).write_all(b"stopped\n").expect("a line");
    log.finish();
    assert_eq!(rest((reader, log)), "stopped\n");
}

#[test]
fn a_piece_ends_with_a_line_and_a_dropped_one_counts_its_lines() {
    let line = [&[b'x'; 999][..], b"\n"].concat();
    for (lines, length) in [
        (line.repeat(4), 4000),
        (line.repeat(5), 4000),
        (
            [vec![b'y'; PIECE + 7], b"\n".to_vec(), line.clone()].concat(),
            PIECE + 8,
        ),
        (Vec::new(), 0),
    ] {
        assert_eq!(first_piece(&lines), length, "{}", lines.len());
    }
    assert_eq!(count_of_lines(&line.repeat(4)), 4);
    assert_eq!(count_of_lines(b"first\nsecond"), 2);
}

#[test]
fn lines_of_many_threads_are_all_written_and_whole() {
    let (mut reader, log) = log(Duration::ZERO);
    let read = thread::spawn(move || {
        let mut text = String::new();
        reader.read_to_string(&mut text).map(|_| text)
    });
    let left = AtomicUsize::new(4);
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut lines = Vec::new();
            while left.load(Ordering::Relaxed) > 0 {
                log.write_left(&mut lines);
            }
        });
        for name in ["a", "b", "c", "d"] {
            let (mut log, left) = (&log, &left);
            scope.spawn(move || {
                for number in 0..200 {
                    let line = format!("{name}{number}\n");
                    log.write_all(line.as_bytes()).expect("a line");
                }
                left.fetch_sub(1, Ordering::Relaxed);
            });
        }
    });
    log.finish();
    let dropped = log.dropped.get();
    drop(log);
    let text = read.join().expect("the reader").expect("text");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len() as u64 + dropped, 800);
    let is_whole = |line: &&str| line.get(1..).is_some_and(|number| number.parse::<u32>().is_ok());
    assert!(lines.iter().all(is_whole), "{text}");
}
