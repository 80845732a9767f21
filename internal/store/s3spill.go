package store

import (
	"os"
	"sync"

	"dumptool/internal/lang"
)

// spill keeps blocks of an object on disk that are read repeatedly. Examples: a device layout
// larger than the cache is read again for every few rows of the host layout; a reference is opened
// for each rank. Once as many bytes were fetched as the object has, further fetched blocks are also
// written to an unlinked file in $TMPDIR. Blocks evicted from memory are written too if the object
// will be opened again. Without room in $TMPDIR, blocks are fetched again.
type spill struct {
	spool *spool

	mu      sync.Mutex
	fetched int64
	file    *os.File // nil before the first block
	path    string   // path of the file if it could not be unlinked while open
	have    map[span]bool
	bytes   int64 // bytes in the file
	ended   bool  // the disk is full or broken, or the object is closed
}

// load reads a block from the file, if it is there.
func (s *spill) load(k *block) bool {
	s.mu.Lock()
	file, kept := s.file, s.have[k.span]
	s.mu.Unlock()
	if !kept {
		return false
	}
	_, err := file.ReadAt(k.data, k.off)
	return err == nil
}

// storeBlock counts a fetched block, and writes it to the file if the object (of the given size) is being
// fetched again.
func (s *spill) storeBlock(k *block, size int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fetched += k.n; s.fetched > size {
		s.putBlock(k)
	}
}

// write writes a block to the file.
func (s *spill) write(k *block) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.putBlock(k)
}

func (s *spill) putBlock(k *block) {
	if s.ended || s.have[k.span] || !s.spool.reserve(k.n) {
		return
	}
	if s.file == nil {
		file, err := os.CreateTemp("", "dumptool-*")
		if err != nil {
			s.stopWriting(k, err)
			return
		}
		if os.Remove(file.Name()) != nil { // some systems keep open files
			s.path = file.Name()
		}
		s.file, s.have = file, map[span]bool{}
	}
	if _, err := s.file.WriteAt(k.data, k.off); err != nil {
		s.stopWriting(k, err)
		return
	}
	s.have[k.span] = true
	s.bytes += k.n
}

// stopWriting stops writing after an error. The blocks in the file stay.
func (s *spill) stopWriting(k *block, err error) {
	s.ended = true
	s.spool.release(k.n)
	s.spool.reportFailure(err)
}

// close removes the file. Errors are ignored.
func (s *spill) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file != nil {
		_ = s.file.Close()
	}
	if s.path != "" {
		_ = os.Remove(s.path)
	}
	if s.bytes > 0 {
		s.spool.release(s.bytes)
	}
	s.file, s.have, s.bytes, s.ended = nil, nil, 0, true
}

// spool is the space in $TMPDIR that all objects share.
type spool struct {
	max  int64
	note func(lang.Sentence) // may be nil

	mu         sync.Mutex
	hasLimit   bool // limit is set
	limit      int64
	bytes      int64
	isReported bool // the user has the message that there is no more space
}

// reserve reserves n bytes; release releases them.
func (s *spool) reserve(n int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.hasLimit {
		s.hasLimit, s.limit = true, TempSpace(s.max)
	}
	if n > s.limit-s.bytes {
		s.announceOnce(lang.Say("the cache of objects in %s ($TMPDIR) is limited to %d bytes (--s3-spool); other objects that are read twice are fetched twice", os.TempDir(), max(s.limit, 0)))
		return false
	}
	s.bytes += n
	return true
}

// release releases n bytes.
func (s *spool) release(n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bytes -= n
}

// reportFailure tells the user why blocks cannot be kept.
func (s *spool) reportFailure(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.announceOnce(lang.Say("cannot cache objects in %s ($TMPDIR): %v; objects that are read twice are fetched twice", os.TempDir(), err))
}

// announceOnce sends the first message to the user.
func (s *spool) announceOnce(what lang.Sentence) {
	if !s.isReported && s.note != nil {
		s.note(what)
	}
	s.isReported = true
}

// TempSpace returns the bytes that a process may write to $TMPDIR: nine tenths of the free space, at
// most `most`.
func TempSpace(most int64) int64 {
	if free, known := writableBytes(os.TempDir()); known {
		return min(most, free-free/10)
	}
	return most
}
