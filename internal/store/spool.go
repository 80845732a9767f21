package store

import (
	"os"
	"sync"

	"dumptool/internal/lang"
)

// Spare is how many bytes a process may write to $TMPDIR: nine tenths of the room that there
// is, or as many as it wants at most.
func Spare(most int64) int64 {
	if free, known := room(os.TempDir()); known {
		return min(most, free-free/10)
	}
	return most
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
