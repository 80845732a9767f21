package store

import (
	"os"
	"sync"
)

// spill has the blocks of an object that are read again and again: a layout of the device
// that is larger than the memory for blocks is read all over for every few rows of the
// host's. Once as many bytes were fetched as the object has, what is fetched goes to a
// file without a name too, in the folder that $TMPDIR names, and the next time it comes
// from there. Where there is no room for it, blocks are fetched again.
type spill struct {
	mu      sync.Mutex
	fetched int64
	file    *os.File // nil before the first block
	path    string   // of the file where it could not be removed while it is open
	have    map[span]bool
	ended   bool // there is no room, or nobody reads any more
}

// load fills the memory of a block, if it is kept.
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

// keep notes that a block of an object of some size was fetched, and keeps it if it may be
// fetched again.
func (s *spill) keep(k *block, size int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fetched += k.n
	if s.ended || s.fetched <= size {
		return
	}
	if s.file == nil {
		file, err := os.CreateTemp("", "dumptool-*")
		if err != nil {
			s.ended = true
			return
		}
		if os.Remove(file.Name()) != nil { // systems that keep what is open
			s.path = file.Name()
		}
		s.file, s.have = file, map[span]bool{}
	}
	if _, err := s.file.WriteAt(k.data, k.off); err != nil {
		s.ended = true // what is there stays
		return
	}
	s.have[k.span] = true
}

// close gives the blocks up. Nothing depends on whether that works.
func (s *spill) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file != nil {
		_ = s.file.Close()
	}
	if s.path != "" {
		_ = os.Remove(s.path)
	}
	s.file, s.have, s.ended = nil, nil, true
}
