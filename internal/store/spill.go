package store

import (
	"sync"

	"dumptool/internal/scratch"
)

// spill has the blocks of an object that are read again and again: a layout of the device
// that is larger than the memory for blocks is read all over for every few rows of the
// host's. Once as many bytes were fetched as the object has, what is fetched goes to a
// file without a name too, and the next time it comes from there. Where there is no room
// for it, blocks are fetched again.
type spill struct {
	mu      sync.Mutex
	fetched int64
	file    *scratch.File // nil before the first block
	have    map[blockKey]bool
	ended   bool // there is no room, or nobody reads any more
}

// load fills the memory of a block, if it is kept.
func (s *spill) load(k *block) bool {
	s.mu.Lock()
	file := s.file
	kept := s.have[k.key]
	s.mu.Unlock()
	if !kept {
		return false
	}
	_, err := file.ReadAt(k.data, k.key.off)
	return err == nil
}

// keep notes that a block of an object of some size was fetched, and keeps it if it may be
// fetched again.
func (s *spill) keep(k *block, size int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fetched += k.key.n
	if s.ended || s.fetched <= size {
		return
	}
	if s.file == nil {
		file, err := scratch.Create()
		if err != nil {
			s.ended = true
			return
		}
		s.file, s.have = file, map[blockKey]bool{}
	}
	if _, err := s.file.WriteAt(k.data, k.key.off); err != nil {
		s.ended = true // what is there stays
		return
	}
	s.have[k.key] = true
}

// close gives the blocks up.
func (s *spill) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	file := s.file
	s.file, s.have, s.ended = nil, nil, true
	if file == nil {
		return nil
	}
	return file.Close()
}
