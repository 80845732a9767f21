package store

import (
	"bytes"
	"container/list"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"dumptool/internal/lang"
)

// TestRequests checks the requests for an object.
func TestRequests(t *testing.T) {
	const size = headSize + 5*minBlock + 1000
	read := func(off, n int64) func(t *testing.T, src Source) {
		return func(t *testing.T, src Source) {
			t.Helper()
			if _, err := src.ReadAt(make([]byte, n), off); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, tt := range map[string]struct {
		block int64
		read  func(t *testing.T, src Source)
		want  string // requested ranges, in blocks after the head; h is the head
	}{
		"nothing":             {minBlock, func(*testing.T, Source) {}, "h"},
		"header":              {minBlock, read(100, 200), "h"},
		"one read of all":     {8 * minBlock, read(0, size), "h 0-6"},
		"in blocks":           {minBlock, read(0, size), "h 0-1 1-2 2-3 3-4 4-5 5-6"},
		"directory of a zip":  {8 * minBlock, read(size-100, 100), "h 5-6"},
		"middle, a big block": {4 * minBlock, read(headSize+4*minBlock, 2*minBlock-1048576/4+100), "h 4-6"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFaults(t)
			s, bucket, _ := f.begin(t, size, func(set *S3Settings) { set.Block = tt.block })
			src := s.mustOpen(t, bucket, "run/x")
			tt.read(t, src)
			again := s.mustOpen(t, bucket, "run/x") // its head is cached, its version not yet confirmed
			read(headSize-1, 1)(t, again)
			var got []string
			for _, line := range f.log() {
				var a, b int64
				if _, err := fmt.Sscanf(line[strings.Index(line, "bytes="):], "bytes=%d-%d", &a, &b); err != nil {
					t.Fatal(err)
				}
				if a == 0 {
					got = append(got, "h")
				} else {
					got = append(got, fmt.Sprintf("%d-%d", (a-headSize)/minBlock, (b+minBlock-headSize)/minBlock))
				}
			}
			slices.Sort(got[1 : len(got)-1]) // one is fetched ahead
			if want := tt.want + " h"; strings.Join(got, " ") != want {
				t.Errorf("fetched %q, want %s", got, want)
			}
		})
	}
}

// TestReadAhead checks that the next block is fetched before it is read.
func TestReadAhead(t *testing.T) {
	f := newFaults(t)
	s, bucket, data := f.begin(t, headSize+4*minBlock, func(set *S3Settings) { set.Block, set.Cache = minBlock, 8*minBlock })
	src := s.mustOpen(t, bucket, "run/x")
	third := make(chan bool, 1)
	f.before.set(func(_ int64, _ http.ResponseWriter, r *http.Request) bool {
		if strings.HasPrefix(r.Header.Get("Range"), fmt.Sprintf("bytes=%d-", headSize+2*minBlock)) {
			third <- true
		}
		return false
	})
	for _, off := range []int64{headSize, headSize + minBlock} {
		if _, err := src.ReadAt(make([]byte, 10), off); err != nil {
			t.Fatal(err)
		}
	}
	<-third
	if got := readAll(t, src); !bytes.Equal(got, data) {
		t.Error("other bytes came back")
	}
	f.before.set(nil)
	seen := map[string]bool{}
	for _, line := range f.log() {
		if seen[line] {
			t.Errorf("fetched twice: %s", line)
		}
		seen[line] = true
	}
}

// TestPrefetch checks that the first block of a range is fetched before it is read, and is the
// block that is read.
func TestPrefetch(t *testing.T) {
	for _, from := range []int64{10, headSize, headSize + minBlock + 10} {
		f := newFaults(t)
		s, bucket, data := f.begin(t, headSize+4*minBlock, func(set *S3Settings) { set.Block, set.Cache = minBlock, 8*minBlock })
		src := s.mustOpen(t, bucket, "run/x")
		first := make(chan bool, 1)
		f.before.set(func(_ int64, _ http.ResponseWriter, r *http.Request) bool {
			if !strings.HasPrefix(r.Header.Get("Range"), "bytes=0-") {
				select {
				case first <- true:
				default:
				}
			}
			return false
		})
		Prefetch(&source{Source: src}, from, int64(len(data))-from)
		<-first
		got, err := io.ReadAll(io.NewSectionReader(src, from, int64(len(data))-from))
		if err != nil || !bytes.Equal(got, data[from:]) {
			t.Errorf("from %d: %d bytes, %v", from, len(got), err)
		}
		f.before.set(nil)
		seen := map[string]bool{}
		for _, line := range f.log() {
			if seen[line] {
				t.Errorf("from %d: fetched twice: %s", from, line)
			}
			seen[line] = true
		}
		Prefetch(src, 0, headSize) // the head is not a block
		Prefetch(src, int64(len(data)), 10)
		Prefetch(bytes.NewReader(data), 0, 10)
		if log := f.log(); len(log) > 0 {
			t.Errorf("from %d: fetched %q", from, log)
		}
	}
}

// TestBudget checks that many readers with a small cache finish, and that memory stays within the
// cache and one block for each reader.
func TestBudget(t *testing.T) {
	for _, cache := range []int64{minBlock, minBlock + 1000, 3 * minBlock, 16 * minBlock} {
		s := fakeServer(t).connect(t, func(set *S3Settings) { set.Block, set.Cache, set.Concurrency = min(minBlock+1000, cache), cache, 3 })
		bucket := s.bucket(t)
		const objects, readers = 3, 40
		for i := range objects {
			s.mustPut(t, bucket, fmt.Sprint(i), pattern(headSize+3*minBlock+i))
		}
		var wg sync.WaitGroup
		for i := range readers {
			src := s.mustOpen(t, bucket, fmt.Sprint(i%objects))
			if i%2 == 0 {
				AnnounceFullRead(src)
			}
			wg.Go(func() {
				got, err := io.ReadAll(io.NewSectionReader(src, 0, src.Size()))
				if err != nil || !bytes.Equal(got, pattern(headSize+3*minBlock+i%objects)) {
					t.Errorf("reader %d: %d bytes, %v", i, len(got), err)
				}
			})
		}
		wg.Wait()
		b := s.blocks
		b.mu.Lock()
		held, unread := int64(0), int64(0)
		for _, e := range b.bySpan {
			k := e.Value.(*block)
			held += k.n
			if k.unread > 0 {
				unread += k.n
			}
			if k.users != 0 {
				t.Errorf("block %v has %d users", k.span, k.users)
			}
		}
		if held != b.bytes || b.order.Len() != len(b.bySpan) || held > cache+readers*minBlock || unread != b.unread {
			t.Errorf("%d bytes in use, counted %d, of %d; %d unread, counted %d", held, b.bytes, cache, unread, b.unread)
		}
		b.mu.Unlock()
	}
}

// TestWhole checks the requests for an object that is read whole.
func TestWhole(t *testing.T) {
	const block = 4 * minBlock
	header := func(t *testing.T, src Source) {
		t.Helper()
		if _, err := src.ReadAt(make([]byte, 300), 0); err != nil {
			t.Fatal(err)
		}
	}
	for name, tt := range map[string]struct {
		size   int
		before func(t *testing.T, s *s3, src func() Source)
		want   string // first bytes and sizes of ranges
	}{
		"within a head":     {headSize, nil, "0+65536"},
		"one block":         {headSize + 1, nil, "0+65537"},
		"a block to a byte": {block, nil, "0+1048576"},
		"equal blocks":      {2*block + 1, nil, "0+700416 1400832+696321 700416+700416"},
		"the head is known": {block, func(t *testing.T, _ *s3, src func() Source) {
			t.Helper()
			first := src()
			header(t, first)
			if err := first.Close(); err != nil {
				t.Fatal(err)
			}
		}, "0+1048576 0+32768"},
		"memory is short": {block, func(t *testing.T, s *s3, _ func() Source) {
			t.Helper()
			s.blocks.mu.Lock()
			s.blocks.unread += s.blocks.max
			s.blocks.mu.Unlock()
		}, "0+1048576 0+32768"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFaults(t)
			s, bucket, data := f.begin(t, tt.size, func(set *S3Settings) { set.Block = block })
			open := func() Source {
				src, err := s.Open(bucket, Object{Key: "run/x", Size: int64(len(data))})
				if err != nil {
					t.Fatal(err)
				}
				return src
			}
			if tt.before != nil {
				tt.before(t, s, open)
			}
			src := open()
			AnnounceFullRead(&source{Source: src})
			header(t, src)
			Prefetch(src, 128, int64(len(data))-128)
			if got := readAll(t, src); !bytes.Equal(got, data) {
				t.Error("other bytes came back")
			}
			var got []string
			for _, line := range f.log() {
				var a, b int64
				if _, err := fmt.Sscanf(line[strings.Index(line, "bytes="):], "bytes=%d-%d", &a, &b); err != nil {
					t.Fatal(err)
				}
				got = append(got, fmt.Sprintf("%d+%d", a, b-a+1))
			}
			slices.Sort(got)
			if strings.Join(got, " ") != tt.want {
				t.Errorf("fetched %q, want %s", got, tt.want)
			}
			if err := src.Close(); err != nil {
				t.Error(err)
			}
			Prefetch(src, 0, 100) // closed sources ignore it
		})
	}
}

// TestSegments checks that an object is fetched once when ranges of it are read in parallel.
func TestSegments(t *testing.T) {
	const size, pieces = 16 * minBlock, 4
	f := newFaults(t)
	s, bucket, data := f.begin(t, size, func(set *S3Settings) { set.Block, set.Cache = minBlock, 12*minBlock })
	src, err := s.Open(bucket, Object{Key: "run/x", Size: size})
	if err != nil {
		t.Fatal(err)
	}
	AnnounceFullRead(src)
	var wg sync.WaitGroup
	for i := range pieces {
		wg.Go(func() {
			got, err := io.ReadAll(io.NewSectionReader(src, int64(i)*size/pieces, size/pieces))
			if err != nil || !bytes.Equal(got, data[i*size/pieces:][:size/pieces]) {
				t.Errorf("piece %d: %d bytes, %v", i, len(got), err)
			}
		})
	}
	wg.Wait()
	if log := f.log(); len(log) != size/minBlock {
		t.Errorf("%d requests: %q", len(log), log)
	}
}

// TestVictims checks which blocks are evicted.
func TestVictims(t *testing.T) {
	b := &blocks{max: 4 * minBlock, bySpan: map[span]*list.Element{}}
	table := sharedTable{byID: map[string]*sharedObject{}}
	get := func(id string) *block {
		k, isNew := b.find(table.addUser(id), span{id, 0, minBlock}, priorityNow)
		if isNew {
			b.setLoaded(k, nil)
		}
		return k
	}
	gone := func(after string, want ...*block) {
		t.Helper()
		for _, k := range want {
			if b.bySpan[k.span] != nil {
				t.Errorf("after %s: %v is still there", after, k.span)
			}
		}
	}
	first, second, third, used := get("first"), get("second"), get("third"), get("used")
	for at := int64(0); at < minBlock; at += minBlock / 4 { // read to its end in several pieces
		b.release(get("third"), minBlock/4)
	}
	b.release(third, 0)
	b.release(first, minBlock/2)
	b.release(second, 0)
	if third.unread > 0 || b.unread != 3*minBlock {
		t.Errorf("%d bytes of a block are left, %d of all", third.unread, b.unread)
	}
	if k, _ := b.find(table.addUser("any"), span{"more", 0, minBlock}, priorityLow); k != nil {
		t.Error("nothing is left for others")
	}
	if k, isNew := b.find(table.addUser("any"), span{"more", 0, minBlock}, prioritySoon); k == nil || !isNew {
		t.Error("what was read is kept")
	}
	gone("one more", third)
	if k, _ := b.find(table.addUser("any"), span{"again", 0, minBlock}, prioritySoon); k != nil {
		t.Error("a block was given up that nobody had read")
	}
	get("a")
	gone("a", first) // least recently used
	get("b")
	gone("b", second)
	get("c")
	if b.bySpan[used.span] == nil || b.bytes != 5*minBlock {
		t.Errorf("what is in use was given up, or %d bytes are counted", b.bytes)
	}
	b.release(get("broken"), 0)
	k, _ := b.find(table.addUser("any"), span{"error", 0, minBlock}, priorityNow)
	b.setLoaded(k, errChanged)
	b.release(k, 0)
	gone("an error", k)
}

// TestShare checks that the cache has two blocks for every reader, or one if it reads the whole
// object.
func TestShare(t *testing.T) {
	s := fakeServer(t).connect(t)
	f := &s3Object{s: s, sharedObject: new(sharedObject)}
	for active := int64(1); active < 600; active++ {
		each := int64(2)
		if f.isWhole = active%2 == 0; f.isWhole {
			each = 1
		}
		n := f.blockShare(active)
		if n > s.set.Block || n < minBlock || n > minBlock && each*active*n > s.set.Cache {
			t.Errorf("%d readers have blocks of %d", active, n)
		}
		if n < s.set.Block && 2*each*active*n <= s.set.Cache {
			t.Errorf("%d readers have blocks of %d only", active, n)
		}
	}
}

// TestHeads checks that heads are cached up to a number of bytes.
func TestHeads(t *testing.T) {
	const limit = 8 << 20
	h := &headCache{max: limit, byID: map[string][]byte{}}
	for i := range limit/headSize + 10 {
		h.cacheHead(fmt.Sprint(i), make([]byte, headSize))
	}
	held := int64(0)
	for _, data := range h.byID {
		held += int64(len(data))
	}
	if h.bytes != held || held != limit {
		t.Errorf("%d heads of %d bytes, counted %d", len(h.byID), held, h.bytes)
	}
	for id := range h.byID {
		h.cacheHead(id, make([]byte, 1000))
		if got := len(h.get(id)); got != 1000 || h.bytes != limit-headSize+1000 {
			t.Errorf("%d bytes are kept of a head, %d of all", got, h.bytes)
		}
		break
	}
}

// TestReadAt compares concurrent reads in random order with the written bytes.
func TestReadAt(t *testing.T) {
	s := fakeServer(t).connect(t, smallBlocks)
	bucket := s.bucket(t)
	sizes := []int{0, 1, headSize, headSize + 1, headSize + minBlock, headSize + 3*minBlock + 77}
	for _, n := range sizes {
		s.mustPut(t, bucket, fmt.Sprint(n), pattern(n))
	}
	rapid.Check(t, func(r *rapid.T) {
		n := rapid.SampledFrom(sizes).Draw(r, "size")
		data := pattern(n)
		src, err := s.Open(bucket, Object{Key: fmt.Sprint(n), Size: -1})
		if err != nil {
			r.Fatal(err)
		}
		defer src.Close()
		if rapid.Bool().Draw(r, "whole") {
			AnnounceFullRead(src)
		}
		want := bytes.NewReader(data)
		for range rapid.IntRange(1, 30).Draw(r, "reads") {
			off := rapid.Int64Range(0, int64(n)+10).Draw(r, "off")
			p := make([]byte, rapid.IntRange(0, 2*minBlock).Draw(r, "n"))
			q := make([]byte, len(p))
			got, err := src.ReadAt(p, off)
			wanted, wantErr := want.ReadAt(q, off)
			if len(p) == 0 {
				wanted, wantErr = 0, nil
			}
			if got != wanted || (err == nil) != (wantErr == nil) || !bytes.Equal(p[:got], q[:got]) {
				r.Fatalf("ReadAt(%d bytes, %d) = %d, %v; want %d, %v", len(p), off, got, err, wanted, wantErr)
			}
		}
	})
}

// FuzzAnswered checks the parsing of response headers.
func FuzzAnswered(f *testing.F) {
	for _, text := range []string{"bytes 0-9/100", "bytes 65536-70000/400000", "bytes */100", "", "bytes 0-9/*", "bytes 9223372036854775807-9223372036854775807/9223372036854775807"} {
		f.Add(text, "10", int64(0))
		f.Add(text, "-1", int64(65536))
	}
	f.Fuzz(func(t *testing.T, span, length string, off int64) {
		if off < 0 {
			return
		}
		size, err := objectSize(http.Header{"Content-Range": {span}, "Content-Length": {length}}, off)
		if err == nil && (size < 0 || size < off || size == off && off > 0) {
			t.Errorf("%q: size %d of an object with bytes at %d", span, size, off)
		}
		if err != nil && size != 0 {
			t.Errorf("%q: size %d with error %v", span, size, err)
		}
	})
}

// TestSpill checks that an object larger than the cache is fetched only a few times in many random
// passes, if the disk has room, and that all bytes are right.
func TestSpill(t *testing.T) {
	const blocks, rounds = 12, 10
	dir := t.TempDir()
	for name, tt := range map[string]struct {
		folder string
		spool  int64
		most   int // maximum requests; without room one per read, as readers may evict each other's blocks
		note   string
	}{
		"room":    {dir, 0, 4 * blocks, ""},
		"bound":   {dir, 3*minBlock + 1, 4 * rounds * blocks, "the cache of objects in " + dir + " ($TMPDIR) is limited to 786433 bytes"},
		"none":    {dir, -1, 4 * rounds * blocks, "is limited to 0 bytes"},
		"no room": {filepath.Join(dir, "missing"), 0, 4 * rounds * blocks, "cannot cache objects in " + filepath.Join(dir, "missing") + " ($TMPDIR): "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("TMPDIR", tt.folder)
			f := newFaults(t)
			var notes []string
			s, bucket, data := f.begin(t, headSize+blocks*minBlock, smallBlocks, func(set *S3Settings) {
				set.Spool, set.Note = tt.spool, func(note lang.Sentence) { notes = append(notes, note.Text().String()) }
			})
			src := s.mustOpen(t, bucket, "run/x")
			AnnounceFullRead(src)
			var readers sync.WaitGroup
			for part := range 2 {
				readers.Go(func() {
					for round := range rounds {
						for at := (part*rounds + round) * 700; at < len(data); at += minBlock / 2 {
							p := make([]byte, min(900, len(data)-at))
							if _, err := src.ReadAt(p, int64(at)); err != nil || !bytes.Equal(p, data[at:][:len(p)]) {
								t.Errorf("other bytes at %d, or %v", at, err)
								return
							}
						}
					}
				})
			}
			readers.Wait()
			gets := slices.DeleteFunc(f.log(), func(line string) bool { return !strings.HasPrefix(line, "GET ") })
			if len(gets) > tt.most || tt.note != "" && len(gets) < rounds*blocks/2 {
				t.Errorf("%d requests for %d blocks that were read %d times", len(gets), blocks, 2*rounds)
			}
			if most := max(tt.spool, 0); tt.spool != 0 && s.shared.spool.bytes > most || tt.note != "" != (len(notes) == 1) || !strings.Contains(strings.Join(notes, ""), tt.note) {
				t.Errorf("%d bytes are kept, notes %q", s.shared.spool.bytes, notes)
			}
			if err := src.Close(); err != nil {
				t.Error(err)
			}
			if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) > 0 {
				t.Errorf("%q are left", left)
			}
			if s.shared.spool.bytes != 0 {
				t.Errorf("%d bytes are counted of nothing", s.shared.spool.bytes)
			}
		})
	}
}
