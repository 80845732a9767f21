// Package bundle reads archives of runs as the folders that they were made of: zip files,
// tar files, and tar files that gzip or zstd has compressed. What an archive is, its
// content says. Nothing of it is written under a name of its own: what has to be unpacked
// goes into one file without a name, so that no name in an archive leads anywhere and
// nothing is left behind, however the process ends.
//
// Files of tar archives and stored files of zip archives are read where they lie. Deflated
// ones are inflated in memory, or, those that are large, into that file; a compressed tar
// archive is unpacked into it at once.
//
// The formats are described in APPNOTE.TXT of PKWARE, and for tar in POSIX.1-2001 (pax)
// and the manual of GNU tar.
package bundle

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path"
	"slices"
	"strings"
	"sync"

	"dumptool/internal/format/archive"
	"dumptool/internal/lang"
	"dumptool/internal/safefile"
	"dumptool/internal/store"
)

// Options say how archives are read.
type Options struct {
	// Max is the most bytes that may be unpacked of one.
	Max int64
	// Shared is set where other processes read the same archive: each would unpack it.
	Shared bool
	// Tensors reports whether a zip file with these entries is a file of tensors, and no
	// run.
	Tensors func(name string, entries []string) bool
	// Context ends unpacking, Watch is told of its bytes of all, and nil at the end.
	Context context.Context
	Watch   func(done, total int64)
	// Warn is told what is left out of an archive.
	Warn func(lang.Sentence)
}

// MaxMembers is how many members an archive may have, left out or not.
const MaxMembers = archive.MaxEntries

// UnpackError is that of an archive which the user has to unpack first.
type UnpackError struct {
	Path    string
	What    lang.Text // what is there
	Command string    // that unpacks it
}

// Error says what the file is and what to do.
func (e *UnpackError) Error() string { return e.Text().String() }

// Text says what the file is and what to do.
func (e *UnpackError) Text() lang.Text {
	return lang.Say("%s is %s: unpack it first: %s", e.Path, e.What, e.Command).Text()
}

// Bundle is an open archive.
type Bundle struct {
	opt     Options
	path    string
	file    store.Source
	scratch scratch
	members map[string]*member // by their names, those of folders with a slash at the end
	// left are the names of what is left out by the reason, replaced those of files that
	// came again: the last one counts.
	left     map[lang.Text][]string
	replaced []string
}

// member is a file in an archive.
type member struct {
	size int64
	// from has the data from off on. Those of a zip file that are deflated have none until
	// they are unpacked.
	from io.ReaderAt
	off  int64
	mu   sync.Mutex
	zip  deflated
	// damage is why it cannot be read, nil for most.
	damage error
}

// Open opens an archive of a run. It returns nil for a file that is none: one of tensors,
// or of another kind. The error is an *UnpackError, one of a broken archive, or one of
// reading.
func Open(path string, opt Options) (*Bundle, error) {
	file, err := store.Open(path)
	if err != nil {
		return nil, err
	}
	b := &Bundle{opt: opt, path: path, file: file, members: make(map[string]*member), left: make(map[lang.Text][]string)}
	b.scratch.max = opt.Max
	found, err := b.read()
	if err != nil || !found {
		return nil, errors.Join(err, b.Close())
	}
	b.leaveNested()
	b.warn()
	return b, nil
}

// headBytes is how many bytes of a file show its kind.
const headBytes = 1 << 10

// read lists the files, and unpacks those that have no place of their own. It reports
// whether the file is an archive of a run.
func (b *Bundle) read() (bool, error) {
	head := make([]byte, min(headBytes, b.file.Size()))
	if n, err := b.file.ReadAt(head, 0); n < len(head) {
		return false, err
	}
	name := strings.ToLower(store.Base(b.path))
	if e := b.foreign(head, name); e != nil {
		return false, e
	}
	switch {
	case bytes.HasPrefix(head, []byte("PK")) || strings.HasSuffix(name, ".zip"):
		return b.readZip(name)
	case isTar(head):
		return b.readTar()
	}
	for i := range compressions {
		if c := &compressions[i]; bytes.HasPrefix(head, []byte(c.magic)) {
			return b.unpackTar(c)
		}
	}
	return false, nil
}

// Close gives up what was unpacked.
func (b *Bundle) Close() error { return errors.Join(b.file.Close(), b.scratch.close()) }

// List implements store.Members.
func (b *Bundle) List() []store.Object {
	all := make([]store.Object, 0, len(b.members))
	for name, m := range b.members {
		all = append(all, store.Object{Key: name, Size: m.size})
	}
	return all
}

// Open implements store.Members.
func (b *Bundle) Open(name string) (store.Source, error) {
	m := b.members[name]
	if m.damage != nil {
		return nil, m.damage
	}
	if m.zip.entry != nil {
		return &inflated{bundle: b, member: m, name: name}, nil
	}
	return &stored{io.NewSectionReader(m.from, m.off, m.size), b.path + store.Mark + name}, nil
}

// stored is the source of a member that lies somewhere as it is.
type stored struct {
	*io.SectionReader
	id string
}

// ID implements store.Source.
func (s *stored) ID() string { return s.id }

// Close implements store.Source: the archive stays open.
func (*stored) Close() error { return nil }

// What is left out of an archive.
var (
	special = lang.Text{EN: "links, devices and pipes"}
	outside = lang.Text{EN: "names that lead out of their folder"}
	below   = lang.Text{EN: "names below that of a file"}
)

// leave leaves a member out.
func (b *Bundle) leave(name string, why lang.Text) { b.left[why] = append(b.left[why], name) }

// add adds a file, or a folder where it has no data, unless its name must not be used. It
// takes the place of a file of that name.
func (b *Bundle) add(name string, folder bool, m *member) {
	clean, ok := localName(name)
	switch {
	case !ok:
		b.leave(name, outside)
		return
	case clean == "." || clean == "":
		return
	case folder:
		clean, m = clean+"/", &member{}
	case b.members[clean] != nil:
		b.replaced = append(b.replaced, clean)
	}
	b.members[clean] = m
}

// localName is the shortest spelling of the name of a member; false for one that may not
// be used: it is absolute, leads out of the archive, or another system would read it in
// another way.
func localName(name string) (string, bool) {
	for strings.HasPrefix(name, "./") {
		name = name[2:]
	}
	if strings.HasPrefix(name, "/") || strings.ContainsAny(name, "\x00\\") {
		return "", false
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == ".." {
			return "", false
		}
	}
	if name == "" {
		return "", true
	}
	return path.Clean(name), true
}

// leaveNested leaves out what would lie in a file.
func (b *Bundle) leaveNested() {
	for name := range b.members {
		for at := strings.TrimSuffix(name, "/"); ; {
			slash := strings.LastIndexByte(at, '/')
			if slash < 0 {
				break
			}
			if at = at[:slash]; b.members[at] != nil {
				b.leave(name, below)
				delete(b.members, name)
				break
			}
		}
		if file, isFolder := strings.CutSuffix(name, "/"); isFolder && b.members[file] != nil {
			delete(b.members, name)
		}
	}
}

// warn tells what was left out, in one sentence, and what was replaced.
func (b *Bundle) warn() {
	if b.opt.Warn == nil {
		return
	}
	slices.Sort(b.replaced)
	for _, s := range archive.Replaced(slices.Compact(b.replaced)) {
		b.opt.Warn(lang.Say("%s: %s", b.path, s))
	}
	n := 0
	var why []lang.Sentence
	for _, reason := range []lang.Text{special, outside, below} {
		if names := b.left[reason]; len(names) > 0 {
			n += len(names)
			least := names[0]
			for _, name := range names {
				least = min(least, name)
			}
			why = append(why, lang.Say("%d %s such as %q", len(names), reason, least))
		}
	}
	if n > 0 {
		b.opt.Warn(lang.Say("%s: %d of its files are left out: %s", b.path, n, lang.Join(why, lang.Text{EN: ", "})))
	}
}

// others are archives that are not read, by their first bytes: what they are, and the
// command that unpacks one, of a run and of a single file.
var others = []struct {
	magic     string
	what      lang.Text
	run, file string
}{
	{"\xfd7zXZ\x00", lang.Text{EN: "an xz archive"}, "tar xJf", "xz -dk"},
	{"BZh", lang.Text{EN: "a bzip2 archive"}, "tar xjf", "bzip2 -dk"},
	{"7z\xbc\xaf\x27\x1c", lang.Text{EN: "a 7z archive"}, "7z x", "7z x"},
	{"Rar!\x1a\x07", lang.Text{EN: "a rar archive"}, "unrar x", "unrar x"},
}

// foreign is the error of an archive that is not read; nil for other files.
func (b *Bundle) foreign(head []byte, name string) error {
	for _, o := range others {
		if !bytes.HasPrefix(head, []byte(o.magic)) {
			continue
		}
		command := o.file
		if strings.Contains(name, ".tar") || strings.HasPrefix(name[strings.LastIndexByte(name, '.')+1:], "t") {
			command = o.run
		}
		return b.unpack(o.what, command)
	}
	return nil
}

// HasName reports whether a name is that of an archive that Open reads.
func HasName(name string) bool {
	name = strings.ToLower(name)
	return NamesCompressed(name) || strings.HasSuffix(name, ".tar") || strings.HasSuffix(name, ".zip")
}

// NamesCompressed reports whether a name in lower case is that of a compressed tar
// archive.
func NamesCompressed(name string) bool {
	for _, ending := range []string{".tgz", ".tar.gz", ".tar.zst", ".tzst"} {
		if strings.HasSuffix(name, ending) {
			return true
		}
	}
	return false
}

// Shared is the error of a compressed tar archive that several processes read.
func Shared(path string) error { return (&Bundle{path: path}).unpack(shared, "tar xf") }

// unpack is the error of an archive that a command unpacks.
func (b *Bundle) unpack(what lang.Text, command string) error {
	return &UnpackError{b.path, what, lang.ShellLine(append(strings.Fields(command), lang.PathArgument(b.path)))}
}

// What zip files are that are not read.
var (
	encrypted = lang.Text{EN: "an encrypted zip archive"}
	split     = lang.Text{EN: "a zip archive of several files"}
	method    = lang.Text{EN: "a zip archive of another compression method"}
	shared    = lang.Text{EN: "a compressed tar archive, which each shard would unpack"}
)

// scratch is the file that has what was unpacked.
type scratch struct {
	max int64 // bytes that may be unpacked

	mu     sync.Mutex
	file   *os.File // nil before the first byte
	remove func() error
	end    int64 // of what is in it
	limit  int64 // the end that it may have
}

// open makes the file.
func (s *scratch) open() (err error) {
	if s.file != nil {
		return nil
	}
	if s.file, s.remove, err = safefile.Scratch(); err != nil {
		return err
	}
	s.limit = store.Spare(s.max)
	return nil
}

// close gives the file up.
func (s *scratch) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file == nil {
		return nil
	}
	s.file = nil
	return s.remove()
}

// room keeps room for some more bytes and returns where they go.
func (s *scratch) room(size int64) (off int64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.open(); err != nil {
		return 0, err
	}
	if size > s.limit-s.end {
		return 0, s.full(size)
	}
	off = s.end
	s.end += size
	return off, nil
}

// full is the error of more bytes than there is room for.
func (s *scratch) full(size int64) error {
	return lang.Errorf("%d more bytes unpacked would be more than the %d that %s may take ($TMPDIR, --unpack-max)", size, s.limit, os.TempDir())
}

// take copies data of a size into the file.
func (s *scratch) take(data io.Reader, size int64) (io.ReaderAt, error) {
	off, err := s.room(size)
	if err != nil {
		return nil, err
	}
	n, err := io.CopyBuffer(struct{ io.Writer }{io.NewOffsetWriter(s.file, off)}, struct{ io.Reader }{io.LimitReader(data, size)}, make([]byte, 256<<10))
	switch {
	case err != nil:
		return nil, lang.Errorf("unpacking: %w", err)
	case n < size:
		return nil, lang.Errorf("unpacking: found %d bytes, want %d: %w", n, size, errors.Join(io.ErrUnexpectedEOF))
	}
	return io.NewSectionReader(s.file, off, size), nil
}
