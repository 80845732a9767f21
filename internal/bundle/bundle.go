// Package bundle reads an archive of a run like the folder that was packed: zip, tar, and tar
// compressed by gzip or zstd. The content determines the kind, not the file name. Names in an
// archive never become names on the disk: unpacked data goes into one unnamed file, so no name can
// lead out of the archive, and nothing is left behind however the process ends.
//
// Members of tar archives and stored members of zip archives are read in place. Deflated members
// are inflated in memory, large ones into the unnamed file. A compressed tar archive is unpacked
// into it at once. Start reading at Open.
//
// Formats: APPNOTE.TXT of PKWARE for zip; POSIX.1-2001 (pax) and the manual of GNU tar for tar.
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

// Options are the options of Open.
type Options struct {
	// Max limits the unpacked bytes of an archive.
	Max int64
	// Shared: other processes read the same archive, and each would have to unpack it.
	Shared bool
	// Tensors reports whether a zip file with these entries is a file of tensors, not a run.
	Tensors func(name string, entries []string) bool
	// Context ends unpacking. Watch receives the progress in bytes of the archive, and zeros at the end.
	Context context.Context
	Watch   func(done, total int64)
	// Warn receives warnings about members that are left out.
	Warn func(lang.Sentence)
}

// MaxMembers limits the members of an archive, including members that are left out.
const MaxMembers = archive.MaxEntries

// UnpackError is the error of an archive that the user has to unpack first.
type UnpackError struct {
	Path    string
	What    lang.Text // kind of archive
	Command string    // command that unpacks it
}

// Error describes the file and the command that unpacks it.
func (e *UnpackError) Error() string { return e.Text().String() }

// Text returns the error in both languages.
func (e *UnpackError) Text() lang.Text {
	return lang.Say("%s is %s: unpack it first: %s", e.Path, e.What, e.Command).Text()
}

// Bundle is an open archive.
type Bundle struct {
	opt     Options
	path    string
	file    store.Source
	scratch scratch
	members map[string]*member // by name; names of folders end with a slash
	// omitted has the names of members that are left out, by reason. replaced has names that occur more than once:
	// the last member counts.
	omitted  map[lang.Text][]string
	replaced []string
}

// member is a file in an archive.
type member struct {
	size int64
	// from has the data, from off on; nil for members of zip archives that are not unpacked.
	from io.ReaderAt
	off  int64
	mu   sync.Mutex
	// entry is the entry of a zip archive, nil in tar archives.
	entry *archive.Entry
	// damage is the error of a member that cannot be read, nil for most.
	damage error
}

// Open opens an archive of a run. It returns nil for other files, such as files of tensors. The error is an
// *UnpackError, a *RefusedError for a broken archive, or a read error.
func Open(path string, opt Options) (*Bundle, error) {
	file, err := store.Open(path)
	if err != nil {
		return nil, err
	}
	b := &Bundle{opt: opt, path: path, file: file, members: make(map[string]*member), omitted: make(map[lang.Text][]string)}
	b.scratch.max = opt.Max
	found, err := b.read()
	if err != nil || !found {
		return nil, errors.Join(err, b.Close())
	}
	b.omitNested()
	b.warn()
	return b, nil
}

// headBytes is the number of bytes that identify the kind of a file.
const headBytes = 1 << 10

// read lists the members, and unpacks a compressed tar archive. It reports whether the file is an archive of a run.
func (b *Bundle) read() (bool, error) {
	head := make([]byte, min(headBytes, b.file.Size()))
	if n, err := b.file.ReadAt(head, 0); n < len(head) {
		return false, err
	}
	name := strings.ToLower(store.Base(b.path))
	if e := b.foreignError(head, name); e != nil {
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

// Close closes the archive and deletes the unpacked data.
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
	if m.entry != nil {
		return &inflatedFile{bundle: b, member: m, name: name}, nil
	}
	return &storedFile{io.NewSectionReader(m.from, m.off, m.size), b.path + store.Mark + name}, nil
}

// storedFile is the source of an uncompressed member.
type storedFile struct {
	*io.SectionReader
	id string
}

// ID implements store.Source.
func (s *storedFile) ID() string { return s.id }

// Close implements store.Source: the archive stays open.
func (*storedFile) Close() error { return nil }

// Reasons to leave members out.
var (
	specialReason = lang.Text{EN: "links, devices and pipes"}
	outsideReason = lang.Text{EN: "names that lead out of their folder"}
	belowReason   = lang.Text{EN: "names below the name of a file"}
)

func (b *Bundle) noteOmitted(name string, why lang.Text) {
	b.omitted[why] = append(b.omitted[why], name)
}

// add adds a file or a folder, unless its name is not allowed. It replaces a file of the same name.
func (b *Bundle) add(name string, folder bool, m *member) {
	clean, ok := localName(name)
	switch {
	case !ok:
		b.noteOmitted(name, outsideReason)
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

// localName normalises the name of a member. ok is false for names that are not allowed: absolute names, names that
// lead out of the archive, and names that other systems read differently.
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

// omitNested leaves out members whose name continues the name of a file.
func (b *Bundle) omitNested() {
	for name := range b.members {
		for at := strings.TrimSuffix(name, "/"); ; {
			slash := strings.LastIndexByte(at, '/')
			if slash < 0 {
				break
			}
			if at = at[:slash]; b.members[at] != nil {
				b.noteOmitted(name, belowReason)
				delete(b.members, name)
				break
			}
		}
		if file, isFolder := strings.CutSuffix(name, "/"); isFolder && b.members[file] != nil {
			delete(b.members, name)
		}
	}
}

// warn warns about replaced members, and about left out members in one sentence.
func (b *Bundle) warn() {
	if b.opt.Warn == nil {
		return
	}
	slices.Sort(b.replaced)
	for _, s := range archive.WarnOfReplaced(slices.Compact(b.replaced)) {
		b.opt.Warn(lang.Say("%s: %s", b.path, s))
	}
	n := 0
	var why []lang.Sentence
	for _, reason := range []lang.Text{specialReason, outsideReason, belowReason} {
		if names := b.omitted[reason]; len(names) > 0 {
			n += len(names)
			least := names[0]
			for _, name := range names {
				least = min(least, name)
			}
			why = append(why, lang.Say("%d %s such as %q", len(names), reason, least))
		}
	}
	if n > 0 {
		b.opt.Warn(lang.Say("%s: %d of its files are not used: %s", b.path, n, lang.Join(why, lang.Text{EN: ", "})))
	}
}

// foreignKinds are kinds of archives that are not read, by their first bytes, with the commands that unpack a run and
// a single file.
var foreignKinds = []struct {
	magic     string
	what      lang.Text
	run, file string
}{
	{"\xfd7zXZ\x00", lang.Text{EN: "an xz archive"}, "tar xJf", "xz -dk"},
	{"BZh", lang.Text{EN: "a bzip2 archive"}, "tar xjf", "bzip2 -dk"},
	{"7z\xbc\xaf\x27\x1c", lang.Text{EN: "a 7z archive"}, "7z x", "7z x"},
	{"Rar!\x1a\x07", lang.Text{EN: "a rar archive"}, "unrar x", "unrar x"},
}

// foreignError returns an error for archives that are not read; nil for other files.
func (b *Bundle) foreignError(head []byte, name string) error {
	for _, o := range foreignKinds {
		if !bytes.HasPrefix(head, []byte(o.magic)) {
			continue
		}
		command := o.file
		if strings.Contains(name, ".tar") || strings.HasPrefix(name[strings.LastIndexByte(name, '.')+1:], "t") {
			command = o.run
		}
		return b.unpackError(o.what, command)
	}
	return nil
}

// HasName reports whether Open reads archives with this extension.
func HasName(name string) bool {
	name = strings.ToLower(name)
	return HasCompressedName(name) || strings.HasSuffix(name, ".tar") || strings.HasSuffix(name, ".zip")
}

// HasCompressedName reports whether a lower-case name has the extension of a compressed tar archive.
func HasCompressedName(name string) bool {
	return slices.ContainsFunc([]string{".tgz", ".tar.gz", ".tar.zst", ".tzst"}, func(ending string) bool { return strings.HasSuffix(name, ending) })
}

// SharedError returns the error of a compressed tar archive that several processes read.
func SharedError(path string) error { return (&Bundle{path: path}).unpackError(sharedReason, "tar xf") }

// unpackError returns the error of an archive that a command unpacks.
func (b *Bundle) unpackError(what lang.Text, command string) error {
	return &UnpackError{b.path, what, lang.ShellLine(append(strings.Fields(command), lang.PathArgument(b.path)))}
}

// Kinds of archives that are not read.
var (
	encrypted    = lang.Text{EN: "an encrypted zip archive"}
	split        = lang.Text{EN: "a zip archive of several files"}
	method       = lang.Text{EN: "a zip archive of another compression method"}
	sharedReason = lang.Text{EN: "a compressed tar archive, which each shard would unpack"}
)

// scratch is an unnamed file for unpacked data.
type scratch struct {
	max int64 // limit of unpacked bytes

	mu     sync.Mutex
	file   *os.File // nil before the first byte
	remove func() error
	end    int64 // bytes in use
	limit  int64 // largest end
}

// open creates the file, unless it exists.
func (s *scratch) open() (err error) {
	if s.file != nil {
		return nil
	}
	if s.file, s.remove, err = safefile.Scratch(); err != nil {
		return err
	}
	s.limit = store.TempSpace(s.max)
	return nil
}

// close deletes the file.
func (s *scratch) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file == nil {
		return nil
	}
	s.file = nil
	return s.remove()
}

// reserve reserves bytes and returns their offset.
func (s *scratch) reserve(size int64) (off int64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.open(); err != nil {
		return 0, err
	}
	if size > s.limit-s.end {
		return 0, s.fullError(size)
	}
	off = s.end
	s.end += size
	return off, nil
}

// fullError returns the error of more bytes than allowed.
func (s *scratch) fullError(size int64) error {
	return lang.Errorf("unpacking %d more bytes would exceed the %d bytes that %s may take ($TMPDIR, --unpack-max)", size, s.limit, os.TempDir())
}

// add copies data of a size into the file.
func (s *scratch) add(data io.Reader, size int64) (io.ReaderAt, error) {
	off, err := s.reserve(size)
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
