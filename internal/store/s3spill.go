package store

import (
	"os"
	"sync"

	"dumptool/internal/lang"
)

// spill has the blocks of an object that are read again and again: a layout of the device
// that is larger than the memory for blocks is read all over for every few rows of the
// host's; a reference is opened for each rank. Once as many bytes were fetched as the object
// has, what is fetched goes to a file without a name too, in the folder that $TMPDIR names,
// and the next time it comes from there; so does what memory has no room for of an object
// that will be opened again. Where there is no room for it, blocks are fetched again.
type spill struct {
	spool *spool

	mu      sync.Mutex
	fetched int64
	file    *os.File // nil before the first block
	path    string   // of the file where it could not be removed while it is open
	have    map[span]bool
	bytes   int64 // of those
	ended   bool  // nothing can be written, or nobody reads any more
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
	if s.fetched += k.n; s.fetched > size {
		s.put(k)
	}
}

// write keeps a block.
func (s *spill) write(k *block) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.put(k)
}

func (s *spill) put(k *block) {
	if s.ended || s.have[k.span] || !s.spool.take(k.n) {
		return
	}
	if s.file == nil {
		file, err := os.CreateTemp("", "dumptool-*")
		if err != nil {
			s.end(k, err)
			return
		}
		if os.Remove(file.Name()) != nil { // systems that keep what is open
			s.path = file.Name()
		}
		s.file, s.have = file, map[span]bool{}
	}
	if _, err := s.file.WriteAt(k.data, k.off); err != nil {
		s.end(k, err)
		return
	}
	s.have[k.span] = true
	s.bytes += k.n
}

// end keeps no more, since a block could not be written. What is there stays.
func (s *spill) end(k *block, err error) {
	s.ended = true
	s.spool.give(k.n)
	s.spool.fail(err)
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
	if s.bytes > 0 {
		s.spool.give(s.bytes)
	}
	s.file, s.have, s.bytes, s.ended = nil, nil, 0, true
}

// spool is the room in $TMPDIR that all objects share.
type spool struct {
	max  int64
	note func(lang.Sentence) // nil for nobody who hears of it

	mu    sync.Mutex
	asked bool // how much room there is
	limit int64
	bytes int64
	said  bool // that there is no more
}

// take asks for room for some bytes, which give gives back.
func (s *spool) take(n int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.asked {
		s.asked, s.limit = true, Spare(s.max)
	}
	if n > s.limit-s.bytes {
		s.say(lang.Sayf("%s ($TMPDIR) may have %d bytes of objects that are read again (--s3-spool): the rest is fetched again",
			"%s($TMPDIR)最多保存 %d 字节需再次读取的对象(--s3-spool)：其余重新获取", os.TempDir(), max(s.limit, 0)))
		return false
	}
	s.bytes += n
	return true
}

// give gives room back.
func (s *spool) give(n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bytes -= n
}

// fail says why nothing can be written.
func (s *spool) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.say(lang.Sayf("objects that are read again cannot be kept in %s ($TMPDIR): %v; they are fetched again",
		"需再次读取的对象无法保存在 %s($TMPDIR)：%v；将重新获取", os.TempDir(), err))
}

// say says once that not all is kept.
func (s *spool) say(what lang.Sentence) {
	if !s.said && s.note != nil {
		s.note(what)
	}
	s.said = true
}

// Spare is how many bytes a process may write to $TMPDIR: nine tenths of the room that there
// is, or as many as it wants at most.
func Spare(most int64) int64 {
	if free, known := room(os.TempDir()); known {
		return min(most, free-free/10)
	}
	return most
}
