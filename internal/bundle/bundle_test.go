package bundle

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"pgregory.net/rapid"

	"dumptool/internal/lang"
	"dumptool/internal/store"
)

// entry is a file of a test.
type entry struct {
	name string
	data []byte
}

// packers pack files into an archive, by file extension.
var packers = map[string]func(testing.TB, []entry) []byte{
	"tar": packTar,
	"zip": func(t testing.TB, all []entry) []byte {
		t.Helper()
		return packZip(t, zip.Store, all)
	},
	"deflate": func(t testing.TB, all []entry) []byte {
		t.Helper()
		return packZip(t, zip.Deflate, all)
	},
	"tgz": func(t testing.TB, all []entry) []byte {
		t.Helper()
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		return packed(t, &b, w, packTar(t, all))
	},
	"tar.zst": func(t testing.TB, all []entry) []byte {
		t.Helper()
		var b bytes.Buffer
		w, err := zstd.NewWriter(&b)
		if err != nil {
			t.Fatal(err)
		}
		return packed(t, &b, w, packTar(t, all))
	},
}

func packed(t testing.TB, b *bytes.Buffer, w io.WriteCloser, data []byte) []byte {
	t.Helper()
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func packTar(t testing.TB, all []entry) []byte {
	t.Helper()
	var headers []tar.Header
	for _, e := range all {
		headers = append(headers, tar.Header{Name: e.name, Mode: 0o644})
	}
	return packHeaders(t, headers, all)
}

// packHeaders packs headers into a tar archive; the headers of files have data.
func packHeaders(t testing.TB, headers []tar.Header, all []entry) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for i, h := range headers {
		if h.Typeflag == 0 || h.Typeflag == tar.TypeReg {
			h.Size = int64(len(all[i].data))
		}
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if h.Size > 0 {
			if _, err := w.Write(all[i].data); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func packZip(t testing.TB, method uint16, all []entry) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, e := range all {
		to, err := w.CreateHeader(&zip.FileHeader{Name: e.name, Method: method})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := to.Write(e.data); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// opened opens an archive and returns its warnings.
func opened(t testing.TB, name string, data []byte, opt Options) (*Bundle, []string, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, data, 0o666); err != nil {
		t.Fatal(err)
	}
	var warned []string
	opt.Warn = func(s lang.Sentence) { warned = append(warned, strings.TrimPrefix(s.String(), path+": ")) }
	if opt.Max == 0 {
		opt.Max = 1 << 40
	}
	b, err := Open(path, opt)
	if b != nil {
		t.Cleanup(func() {
			if err := b.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	return b, warned, err
}

// contents returns the files of an archive.
func contents(t testing.TB, b *Bundle) map[string]string {
	t.Helper()
	all := make(map[string]string)
	for _, o := range b.List() {
		if strings.HasSuffix(o.Key, "/") {
			all[o.Key] = ""
			continue
		}
		src, err := b.Open(o.Key)
		if err != nil {
			t.Fatal(err)
		}
		data := make([]byte, src.Size())
		if n, err := src.ReadAt(data, 0); n < len(data) {
			t.Fatalf("%s: %v", o.Key, err)
		}
		if err := src.Close(); err != nil || src.Size() != o.Size {
			t.Errorf("%s: %d bytes, listed as %d; %v", o.Key, src.Size(), o.Size, err)
		}
		all[o.Key] = string(data)
	}
	return all
}

// TestContents packs files in every format and reads them, at any offset.
func TestContents(t *testing.T) {
	for kind, pack := range packers {
		t.Run(kind, func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				want := make(map[string]string)
				var all []entry
				for i := range rapid.IntRange(1, 6).Draw(rt, "files") {
					name := fmt.Sprintf("%s/%d.npy", rapid.StringMatching(`[a-z]{1,3}(/[a-z]{1,2}| x|层)?`).Draw(rt, "folder"), i)
					data := bytes.Repeat([]byte(name), rapid.SampledFrom([]int{0, 1, 40, 12345}).Draw(rt, "size"))
					want[name] = string(data)
					all = append(all, entry{name, data})
				}
				b, warned, err := opened(t, "run."+kind, pack(t, all), Options{})
				if err != nil || len(warned) > 0 {
					rt.Fatal(err, warned)
				}
				if got := contents(t, b); !maps.Equal(got, want) {
					rt.Errorf("found %d files, want %d", len(got), len(want))
				}
				for name, text := range want {
					off := rapid.IntRange(0, len(text)).Draw(rt, "offset")
					src, _ := b.Open(name)
					part := make([]byte, len(text)-off)
					if n, err := src.ReadAt(part, int64(off)); n < len(part) || string(part) != text[off:] {
						rt.Errorf("%s at %d: %d bytes, %v", name, off, n, err)
					}
				}
			})
		})
	}
}

// TestLargeDeflated unpacks a file too large for memory once, and reads its header without unpacking.
func TestLargeDeflated(t *testing.T) {
	data := bytes.Repeat([]byte("0123456789abcdef"), (maxInflated+16)/16)
	b, _, err := opened(t, "run.zip", packZip(t, zip.Deflate, []entry{{"a.npy", data}}), Options{})
	if err != nil {
		t.Fatal(err)
	}
	src, _ := b.Open("a.npy")
	head := make([]byte, 100)
	if n, err := src.ReadAt(head, 10); n < 100 || !bytes.Equal(head, data[10:110]) || b.scratch.file != nil {
		t.Errorf("header: %d bytes, %v, unpacked: %v", n, err, b.scratch.file != nil)
	}
	for range 2 {
		src, _ := b.Open("a.npy")
		tail := make([]byte, 1000)
		if n, err := src.ReadAt(tail, int64(len(data)-1000)); n < 1000 || !bytes.Equal(tail, data[len(data)-1000:]) {
			t.Errorf("end: %d bytes, %v", n, err)
		}
	}
	if b.scratch.end != int64(len(data)) {
		t.Errorf("unpacked to %d bytes, want %d", b.scratch.end, len(data))
	}
}

// TestLeftOut leaves out members that lead elsewhere and counts them in one warning.
func TestLeftOut(t *testing.T) {
	headers := []tar.Header{
		{Name: "run/", Typeflag: tar.TypeDir}, {Name: "./run/a.npy"}, {Name: "/etc/passwd"}, {Name: "run/../../b"}, {Name: `run\c`},
		{Name: "run/link", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"}, {Name: "run/hard", Typeflag: tar.TypeLink, Linkname: "run/a.npy"},
		{Name: "run/fifo", Typeflag: tar.TypeFifo}, {Name: "run/a.npy"}, {Name: "run/a.npy/below"}, {Name: "run//d.npy"},
	}
	all := make([]entry, len(headers))
	for i := range all {
		all[i].data = []byte(fmt.Sprint(i))
	}
	// The last file of a name counts, and a hard link is the file that had the name before the link.
	want := map[string]string{"run/": "", "run/a.npy": "8", "run/d.npy": "10"}
	const again = `the archive has several entries of a name, the last one is used: "run/a.npy"`
	const text = `%d of its files are not used: %d links, devices and pipes such as "run/fifo", 3 names that lead out of their folder such as "/etc/passwd", 1 names below the name of a file such as "run/a.npy/below"`
	packedTar := packHeaders(t, headers, all)
	var zipped []byte
	{
		var b bytes.Buffer
		w := zip.NewWriter(&b)
		for i, h := range headers {
			f := &zip.FileHeader{Name: h.Name}
			switch h.Typeflag {
			case tar.TypeSymlink, tar.TypeLink:
				f.SetMode(os.ModeSymlink | 0o777)
			case tar.TypeFifo:
				f.SetMode(os.ModeNamedPipe)
			}
			to, err := w.CreateHeader(f)
			if err == nil && h.Typeflag != tar.TypeDir {
				_, err = to.Write(all[i].data)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		zipped = b.Bytes()
	}
	var tgz bytes.Buffer
	for name, data := range map[string][]byte{"run.tar": packedTar, "run.zip": zipped, "run.tgz": packed(t, &tgz, gzip.NewWriter(&tgz), packedTar)} {
		b, warned, err := opened(t, name, data, Options{})
		if err != nil {
			t.Fatal(name, err)
		}
		want, left := maps.Clone(want), 3
		if name != "run.zip" {
			want["run/hard"], left = "1", 2
		}
		if got := contents(t, b); !maps.Equal(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
		if !slices.Equal(warned, []string{again, fmt.Sprintf(text, left+4, left)}) {
			t.Errorf("%s: warned %q", name, warned)
		}
	}
}

// TestRefused refuses archives that are inconsistent, truncated or would fill the disk.
func TestRefused(t *testing.T) {
	all := []entry{{"a.npy", bytes.Repeat([]byte("a"), 100_000)}, {"b.npy", bytes.Repeat([]byte("b"), 100_000)}}
	plain, tarred := packZip(t, zip.Store, all), packTar(t, all)
	overlapping := bytes.Clone(plain)
	second := bytes.LastIndex(overlapping, []byte("PK\x01\x02"))
	copy(overlapping[second+42:], []byte{10, 0, 0, 0}) // in the data of the first
	lying := bytes.Clone(plain)
	lying[second+24]++
	sparse := packHeaders(t, []tar.Header{{Name: "a", Typeflag: tar.TypeReg, Format: tar.FormatGNU}}, []entry{{"a", []byte("x")}})
	sparse[156] = tar.TypeGNUSparse
	fixSum(sparse)
	for _, tt := range []struct {
		name, want string
		data       []byte
		opt        Options
	}{
		{"overlap.zip", "overlaps the next part of the file", overlapping, Options{}},
		{"lying.zip", "is stored in 100000 bytes, but has 100001", lying, Options{}},
		{"cut.zip", "truncated", plain[:len(plain)-30], Options{}},
		{"cut.tar", "the archive ends at", tarred[:150_000], Options{}},
		{"sparse.tar", "is a sparse file; pack it without -S", sparse, Options{}},
		{"cut.tgz", "cut short", packers["tgz"](t, all)[:200], Options{}},
		{"big.tgz", "--unpack-max", packers["tgz"](t, all), Options{Max: 150_000}},
		{"big.tar.zst", "--unpack-max", packers["tar.zst"](t, all), Options{Max: 201_000}}, // the headers count too
	} {
		b, _, err := opened(t, tt.name, tt.data, tt.opt)
		if b != nil || err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), tt.name) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := opened(t, "run.tgz", packers["tgz"](t, all), Options{Context: ctx}); !errors.Is(err, context.Canceled) {
		t.Errorf("ended: %v", err)
	}
}

// fixSum gives the first header of a tar archive its checksum.
func fixSum(data []byte) {
	copy(data[148:], "        ")
	sum := 0
	for _, c := range data[:blockBytes] {
		sum += int(c)
	}
	copy(data[148:], fmt.Sprintf("%06o\x00 ", sum))
}

// TestUnpackFirst names the command for archives that are not read.
func TestUnpackFirst(t *testing.T) {
	plain := packZip(t, zip.Store, []entry{{"a.npy", []byte("a")}})
	locked := bytes.Clone(plain)
	locked[bytes.Index(locked, []byte("PK\x01\x02"))+8] |= 1
	parts := bytes.Clone(plain)
	parts[len(parts)-18] = 1
	other := bytes.Clone(plain)
	other[bytes.Index(other, []byte("PK\x01\x02"))+10] = 93
	for _, tt := range []struct {
		name, want string
		data       []byte
		opt        Options
	}{
		{"run.tar.xz", "is an xz archive: unpack it first: tar xJf ", []byte("\xfd7zXZ\x00..."), Options{}},
		{"a b.tbz2", "is a bzip2 archive: unpack it first: tar xjf '", []byte("BZh91AY"), Options{}},
		{"dump.xz", "xz -dk ", []byte("\xfd7zXZ\x00..."), Options{}},
		{"run.7z", "7z x ", []byte("7z\xbc\xaf\x27\x1c"), Options{}},
		{"run.rar", "unrar x ", []byte("Rar!\x1a\x07\x01\x00"), Options{}},
		{"locked.zip", "is an encrypted zip archive: unpack it first: unzip ", locked, Options{}},
		{"parts.zip", "is a zip archive of several files: unpack it first: 7z x ", parts, Options{}},
		{"zstd.zip", "another compression method", other, Options{}},
		{"run.tgz", "which each shard would unpack: unpack it first: tar xf ", packers["tgz"](t, []entry{{"a", nil}}), Options{Shared: true}},
	} {
		_, _, err := opened(t, tt.name, tt.data, tt.opt)
		var packed *UnpackError
		if !errors.As(err, &packed) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
}

// TestNoArchive leaves files of tensors and other files to their readers.
func TestNoArchive(t *testing.T) {
	var gz bytes.Buffer
	tensors := func(name string, entries []string) bool { return slices.Contains(entries, "archive/data.pkl") }
	for name, data := range map[string][]byte{
		"dump":     []byte("\x08\x01\x10\x02"),
		"empty":    nil,
		"pt.zip":   packZip(t, zip.Store, []entry{{"archive/data.pkl", nil}, {"archive/version", nil}}),
		"old.pt":   packTar(t, []entry{{"storages", nil}, {"tensors", nil}}),
		"json.gz":  packed(t, &gz, gzip.NewWriter(&gz), []byte("{}")),
		"bad.npz":  []byte("PK\x03\x04 and nothing else"),
		"zeros.fp": make([]byte, 2048),
	} {
		if b, _, err := opened(t, name, data, Options{Tensors: tensors}); b != nil || err != nil {
			t.Errorf("%s: %v, %v, want none", name, b, err)
		}
	}
}

// TestScratchHasNoName finds nothing in $TMPDIR while an archive is open.
func TestScratchHasNoName(t *testing.T) {
	tmp := t.TempDir()
	data := packers["tgz"](t, []entry{{"a.npy", []byte("abc")}})
	path := filepath.Join(t.TempDir(), "run.tgz")
	if err := os.WriteFile(path, data, 0o666); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", tmp)
	left := filepath.Join(tmp, "other")
	if err := os.WriteFile(left, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	b, err := Open(path, Options{Max: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	names, err := filepath.Glob(filepath.Join(tmp, "*"))
	hidden, _ := filepath.Glob(filepath.Join(tmp, ".*"))
	if got := append(names, hidden...); err != nil || !slices.Equal(got, []string{left}) {
		t.Errorf("in $TMPDIR: %v, %v", got, err)
	}
	if got := contents(t, b); got["a.npy"] != "abc" {
		t.Errorf("%q", got)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
}

// TestLocalName is a table of names.
func TestLocalName(t *testing.T) {
	for name, want := range map[string]string{"a": "a", "./a//b/./c": "a/b/c", "././a": "a", "./": "", "a/..b": "a/..b", "a!b": "a!b"} {
		if got, ok := localName(name); !ok || got != want {
			t.Errorf("%q: %q, %v, want %q", name, got, ok, want)
		}
	}
	for _, name := range []string{"/a", ".//a", "..", "a/../b", "a\x00b", `a\b`, `C:\a`} {
		if got, ok := localName(name); ok {
			t.Errorf("%q: %q, want none", name, got)
		}
	}
}

// FuzzOpen reads any archive: no panic, names that stay inside, no more bytes than allowed, and members that can be
// read or have an error.
func FuzzOpen(f *testing.F) {
	all := []entry{{"run/a.npy", []byte("abc")}, {"run/b", bytes.Repeat([]byte("x"), 3000)}, {"../c", []byte("c")}}
	for _, pack := range packers {
		f.Add(pack(f, all))
	}
	f.Add([]byte("\xfd7zXZ\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		const most = 1 << 20
		b, _, err := opened(t, "run", data, Options{Max: most, Shared: false})
		if err != nil || b == nil {
			return
		}
		var total int64
		for _, o := range b.List() {
			if !filepath.IsLocal(o.Key) || strings.ContainsAny(o.Key, "\\\x00") {
				t.Errorf("name %q", o.Key)
			}
			if strings.HasSuffix(o.Key, "/") {
				continue
			}
			src, err := b.Open(o.Key)
			if err != nil {
				t.Fatal(err)
			}
			p := make([]byte, min(src.Size(), 100_000))
			if n, err := src.ReadAt(p, 0); n < len(p) && err == nil {
				t.Errorf("%q: %d of %d bytes and no error", o.Key, n, len(p))
			}
			total += src.Size()
		}
		if b.scratch.end > most {
			t.Errorf("unpacked %d bytes", b.scratch.end)
		}
	})
}

var _ store.Members = (*Bundle)(nil)

// repeated is a block, n times.
type repeated struct {
	block []byte
	n, at int
}

// Read implements io.Reader.
func (r *repeated) Read(p []byte) (int, error) {
	if r.at == r.n*len(r.block) {
		return 0, io.EOF
	}
	n := copy(p, r.block[r.at%len(r.block):])
	r.at += n
	return n, nil
}

// TestMostMembers: an archive with too many members is refused, with the numbers.
func TestMostMembers(t *testing.T) {
	t.Parallel()
	header := packHeaders(t, []tar.Header{{Name: "a/", Typeflag: tar.TypeDir, Mode: 0o755}}, nil)[:blockBytes]
	b := &Bundle{path: "a.tar", members: make(map[string]*member), omitted: make(map[lang.Text][]string)}
	all := &repeated{block: header, n: MaxMembers + 9}
	err := b.walk(tar.NewReader(all), nil)
	if want := "a.tar: the archive is not used: found more members than the 1000000 that are allowed"; err == nil || err.Error() != want || all.at != (MaxMembers+1)*blockBytes {
		t.Errorf("tar: %v after %d members, want %q", err, all.at/blockBytes, want)
	}
	// The end records of APPNOTE.TXT, 4.3.14 to 4.3.16, of a zip file with more entries than 16 bits count.
	end := binary.LittleEndian.AppendUint64([]byte("PK\x06\x06"), 44)
	end = append(end, 45, 0, 45, 0, 0, 0, 0, 0, 0, 0, 0, 0)
	for _, v := range []uint64{MaxMembers + 1, MaxMembers + 1, 0, 0} { // entries on this disk, and in total; bytes and offset of the directory
		end = binary.LittleEndian.AppendUint64(end, v)
	}
	end = append(end, "PK\x06\x07\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00"...)
	end = append(end, "PK\x05\x06\x00\x00\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x00\x00"...)
	path := filepath.Join(t.TempDir(), "a.zip")
	if err := os.WriteFile(path, end, 0o666); err != nil {
		t.Fatal(err)
	}
	_, err = Open(path, Options{})
	if err == nil || !strings.Contains(err.Error(), "1000001 entries are not supported, want at most 1000000") {
		t.Errorf("zip with %d entries: %v", MaxMembers+1, err)
	}
}

// TestDamagedMode: a zip entry with the mode of a link whose data is no path cannot be read. A link is left out.
func TestDamagedMode(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		data    string
		damaged bool
	}{{"../other.npy", false}, {"\x93NUMPY\x01\x00v\x00", true}, {strings.Repeat("a", 4096), true}} {
		var b bytes.Buffer
		w := zip.NewWriter(&b)
		h := &zip.FileHeader{Name: "a.npy"}
		h.SetMode(os.ModeSymlink | 0o777)
		to, err := w.CreateHeader(h)
		if err == nil {
			_, err = io.WriteString(to, c.data)
		}
		if err = errors.Join(err, w.Close()); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "a.zip")
		if err := os.WriteFile(path, b.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
		var warned []string
		z, err := Open(path, Options{Warn: func(s lang.Sentence) { warned = append(warned, s.String()) }})
		if err != nil {
			t.Fatal(err)
		}
		defer z.Close()
		if listed := len(z.List()) == 1; listed != c.damaged || listed != (len(warned) == 0) {
			t.Fatalf("%.20q: listed %v, warnings %q", c.data, listed, warned)
		}
		if !c.damaged {
			continue
		}
		if _, err := z.Open("a.npy"); err == nil || !strings.Contains(err.Error(), `the entry "a.npy" is no file by its mode 0120777, its `) {
			t.Errorf("%.20q: %v", c.data, err)
		}
	}
}
