package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"dumptool/internal/dumpfmt"
	"dumptool/internal/dumptest"
	"dumptool/internal/tensor"
)

// farStore is object storage in this process. It can be slow and unavailable, and counts requests.
type farStore struct {
	endpoint string
	away     atomic.Bool
	busy     bool // answers 503 while away
	// crowd is the number of requests that must once be under way before it serves an object,
	// unless they take longer than half a second to arrive.
	crowd int64
	// onGet is called before each object is read.
	onGet atomic.Pointer[func(n int64)]

	gets, heads, lists, refused atomic.Int64
	sent                        atomic.Int64 // bytes of objects
	open, most                  atomic.Int64 // requests at the same time
}

// counted counts the bytes of an answer.
type counted struct {
	http.ResponseWriter
	n *atomic.Int64
}

// Write implements io.Writer.
func (c counted) Write(p []byte) (int, error) {
	n, err := c.ResponseWriter.Write(p)
	c.n.Add(int64(n))
	return n, err
}

// newFarStore starts object storage with a bucket bkt that holds the files below a folder,
// and lets the environment name it.
func newFarStore(t *testing.T, dir string) *farStore {
	t.Helper()
	fake := gofakes3.New(s3mem.New(), gofakes3.WithLogger(gofakes3.DiscardLog()), gofakes3.WithAutoBucket(false))
	behind := fake.Server()
	f := &farStore{}
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { f.serve(w, r, behind) }))
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	srv.Start()
	t.Cleanup(srv.Close)
	f.endpoint = srv.URL
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL_S3": srv.URL, "AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_SESSION_TOKEN": "", "AWS_PROFILE": "",
		"AWS_EC2_METADATA_DISABLED": "true", "AWS_CONFIG_FILE": os.DevNull, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull, "AWS_CA_BUNDLE": "",
	} {
		t.Setenv(name, value)
	}
	putObject(t, srv.URL, "", nil)
	for key, data := range placeFiles(t, dir, "") {
		putObject(t, srv.URL, key, data)
	}
	f.reset()
	return f
}

// reset resets the counters.
func (f *farStore) reset() {
	for _, n := range []*atomic.Int64{&f.gets, &f.heads, &f.lists, &f.refused, &f.sent, &f.most} {
		n.Store(0)
	}
}

func (f *farStore) serve(w http.ResponseWriter, r *http.Request, behind http.Handler) {
	if f.away.Load() {
		f.refused.Add(1)
		if f.busy {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		panic(http.ErrAbortHandler)
	}
	now := f.open.Add(1)
	defer f.open.Add(-1)
	for most := f.most.Load(); now > most && !f.most.CompareAndSwap(most, now); most = f.most.Load() {
	}
	switch {
	case r.Method == http.MethodHead:
		f.heads.Add(1)
	case r.Method == http.MethodGet && r.URL.Query().Has("list-type"):
		f.lists.Add(1)
	case r.Method == http.MethodGet:
		n := f.gets.Add(1)
		if call := f.onGet.Load(); call != nil {
			(*call)(n)
		}
		w = counted{w, &f.sent}
		for end := time.Now().Add(time.Second / 2); f.most.Load() < f.crowd && time.Now().Before(end); {
			time.Sleep(time.Millisecond)
		}
	}
	behind.ServeHTTP(w, r)
}

// sharedRun writes a run of ranks with one golden run as reference. Each operator has an array of
// float32, and each rank's dump the same in float16; the dumps in bad are wrong. It returns the
// bytes of all files.
func sharedRun(t *testing.T, root string, ranks, ops, elements int, bad func(rank, op int) bool) (bytesOf int64) {
	t.Helper()
	write := func(path string, data []byte) {
		full := filepath.Join(root, filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(full), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, data, 0o666); err != nil {
			t.Fatal(err)
		}
		bytesOf += int64(len(data))
	}
	const one = 0x3c00
	for op := range ops {
		golden, err := npyFile("float32", fmt.Sprint(elements), "1", "2", "1.5")
		if err != nil {
			t.Fatal(err)
		}
		write(fmt.Sprintf("cpu/layer%d.npy", op), golden)
		for rank := range ranks {
			data := make([]byte, 0, 2*elements)
			for i := range elements {
				data = binary.LittleEndian.AppendUint16(data, [3]uint16{one, 0x4000, 0x3e00}[i%3])
			}
			if bad != nil && bad(rank, op) {
				copy(data[len(data)/2:], []byte{0, 0x42, 0, 0x42})
			}
			var b bytes.Buffer
			err := dumptest.Write(&b, &dumptest.Content{Container: dumpfmt.BinaryV2, OpName: "op", Outputs: []dumptest.TensorContent{{
				Payload: dumptest.Bytes(data), StoredDType: int32(tensor.Float16), StoredFormat: tensor.FormatWord(tensor.ND), Shape: []uint64{uint64(elements)}}}})
			if err != nil {
				t.Fatal(err)
			}
			write(fmt.Sprintf("npu/step0/rank%d/MatMul.layer%d.%d.1.%d", rank, op, op, 1700000000000000+100*op), b.Bytes())
		}
	}
	return bytesOf
}

// TestBytesFetched: a run of several ranks against one golden run fetches about as many bytes as
// there are, with room in memory and without, and requests nothing that the listing has already
// told.
func TestBytesFetched(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", t.TempDir())
	all := sharedRun(t, dir, 6, 8, 300_000, func(rank, op int) bool { return rank == 2 && op > 4 })
	f := newFarStore(t, dir)
	for _, options := range []string{"", "--s3-cache 4MiB --s3-block 1MiB", "--s3-cache 2MiB --s3-block 512KiB -j 1"} {
		f.reset()
		args := strings.Fields("compare --cpu s3://bkt/cpu --npu s3://bkt/npu " + options)
		got := runApp(t, args)
		if got.Code != exitFinding {
			t.Fatalf("%s: %+v", options, got)
		}
		if ratio := float64(f.sent.Load()) / float64(all); ratio > 1.1 || f.heads.Load() > 24 {
			t.Errorf("%q: %.2f x the bytes, %d GET, %d HEAD, %d LIST", options, ratio, f.gets.Load(), f.heads.Load(), f.lists.Load())
		}
	}
}

// filesBelow returns the files below a local folder by name.
func filesBelow(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for name, data := range placeFiles(t, dir, "") {
		all[name] = string(data)
	}
	return all
}

// TestOutageInMidRun takes the server away in the middle of a comparison. If it comes back in time,
// only a message tells; else the rows that were not fetched say so, the run and a shard exit with
// 3, and the same line with --resume does only these rows.
func TestOutageInMidRun(t *testing.T) {
	dir := t.TempDir()
	const ranks, ops = 3, 8
	sharedRun(t, dir, ranks, ops, 40_000, func(rank, op int) bool { return rank == 1 && op > 5 })
	f := newFarStore(t, dir)
	out := t.TempDir()
	line := func(name string, more ...string) []string {
		return append(strings.Fields("compare --cpu s3://bkt/cpu --npu s3://bkt/npu --format json,csv,html,junit,text --pictures 0 -out "+filepath.Join(out, name)), more...)
	}
	compared := func(name string) map[string]string {
		files := filesBelow(t, filepath.Join(out, name))
		for file := range files {
			files[file] = strings.ReplaceAll(files[file], filepath.Join(out, name), "OUT")
		}
		return files
	}
	if got := runApp(t, line("one")); got.Code != exitFinding {
		t.Fatalf("%+v", got)
	}
	want := compared("one")
	awayAt := func(n int64, back time.Duration) {
		f.reset()
		f.onGet.Store(new(func(get int64) {
			if get == n && f.away.CompareAndSwap(false, true) && back > 0 {
				time.AfterFunc(back, func() { f.away.Store(false) })
			}
		}))
	}
	const gets = 3*ranks*ops/2 + ops // headers, and some of the data
	for _, f.busy = range []bool{true, false} {
		back := *outage
		if f.busy {
			back = 2 * time.Second
		}
		awayAt(gets, back)
		got := runApp(t, line("through", "--s3-retry-time", "2m"))
		if got.Code != exitFinding || strings.Count(got.Err, "object storage does not answer since ") != 1 || f.refused.Load() == 0 {
			t.Errorf("%d, %d requests refused\n%s", got.Code, f.refused.Load(), got.Err)
		}
		if diff := cmp.Diff(want, compared("through")); diff != "" {
			t.Errorf("busy %v: - without an outage, + with one\n%s", f.busy, diff)
		}
	}
	for _, shard := range []string{"", "0/1"} {
		name, more := "cut"+strings.ReplaceAll(shard, "/", "of"), []string{"--s3-retry-time", "300ms"}
		if shard != "" {
			more = append(more, "--shard", shard)
		}
		awayAt(gets, 0)
		got := runApp(t, line(name, more...))
		document, _ := filepath.Glob(filepath.Join(out, name, "*", "compare.json"))
		if shard == "" {
			document = []string{filepath.Join(out, name, "compare.json")}
		}
		data, err := os.ReadFile(strings.Join(document, ""))
		if got.Code != exitIncomplete || err != nil || !bytes.Contains(data, []byte(`"transport":true`)) || !strings.Contains(got.Err, "--resume") {
			t.Fatalf("shard %q: %+v\n%v", shard, got, err)
		}
		f.onGet.Store(nil)
		f.away.Store(false)
		f.reset()
		unfetched := int64(bytes.Count(data, []byte(`"transport":true`)))
		got = runApp(t, line(name, append(more, "--resume")...))
		if shard != "" {
			if got.Code != 0 {
				t.Errorf("shard %s resumed: %+v", shard, got)
			}
			shards := filepath.Join(out, name)
			name = "merged"
			got = runApp(t, []string{"merge", shards, "-out", filepath.Join(out, name)})
		}
		if most := ops + ranks*ops + 2*unfetched; got.Code != exitFinding || f.gets.Load() > most || unfetched == 0 || unfetched == ranks*ops {
			t.Errorf("shard %q: %d GET for %d rows, want at most %d\n%+v", shard, f.gets.Load(), unfetched, most, got)
		}
		if diff := cmp.Diff(want, compared(name)); diff != "" {
			t.Errorf("shard %q: - one run, + resumed\n%s", shard, diff)
		}
	}
}

// TestScanResumes takes the server away in the middle of a scan, and interrupts another: both leave
// a document, and the same line with --resume reads only the unfinished steps, and writes the
// document of one run.
func TestScanResumes(t *testing.T) {
	dir, out := t.TempDir(), t.TempDir()
	const ranks, ops = 4, 8
	sharedRun(t, dir, ranks, ops, 40_000, nil)
	infinite := filepath.Join(dir, "npu", "step0", "rank1", "MatMul.layer6.6.1.1700000000000600")
	data, err := os.ReadFile(infinite)
	if err == nil {
		copy(data[len(data)-2:], []byte{0, 0x7c})
		err = os.WriteFile(infinite, data, 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
	f := newFarStore(t, dir)
	document := func(name string) string { return filepath.Join(out, name, "overflow_scan.json") }
	for _, all := range [][]string{nil, {"--all"}} {
		line := func(name string, more ...string) []string {
			return slices.Concat(strings.Fields("overflow scan s3://bkt/npu -j 1 --s3-retry-time 200ms --format json,csv,text -out "+filepath.Join(out, name)), all, more)
		}
		if got := runApp(t, line("one")); got.Code != exitFinding {
			t.Fatalf("%+v", got)
		}
		want := filesBelow(t, filepath.Join(out, "one"))
		took := 0
		for _, n := range []int64{ops / 2, ranks*ops + ops/2, ranks*ops + 2*ops + 3} { // in the headers, in the data
			f.reset()
			f.onGet.Store(new(func(get int64) {
				if get == n {
					f.away.Store(true)
				}
			}))
			got := runApp(t, line("cut"))
			if got.Code != exitIncomplete || !strings.Contains(got.Err, "--resume") {
				t.Fatalf("at %d: %+v", n, got)
			}
			f.onGet.Store(nil)
			f.away.Store(false)
			took += resumed(t, f, line("cut", "--resume"), document("cut"), ranks, 2*ops)
			if diff := cmp.Diff(want, filesBelow(t, filepath.Join(out, "cut"))); diff != "" {
				t.Errorf("at %d: - one run, + resumed\n%s", n, diff)
			}
		}
		f.reset()
		at := make(chan bool)
		f.onGet.Store(new(func(get int64) {
			if get == ranks*ops+2*ops {
				at <- true
				<-at
			}
		}))
		scan := exec.Command("dumptool", line("interrupted")...)
		if err := scan.Start(); err != nil {
			t.Fatal(err)
		}
		<-at
		if err := scan.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		time.Sleep(200 * time.Millisecond) // time to notice the interrupt
		f.onGet.Store(nil)
		close(at)
		if _ = scan.Wait(); scan.ProcessState.ExitCode() != exitInterrupted {
			t.Fatal(scan.ProcessState)
		}
		took += resumed(t, f, line("interrupted", "--resume"), document("interrupted"), ranks, 2*ops)
		if diff := cmp.Diff(want, filesBelow(t, filepath.Join(out, "interrupted"))); diff != "" {
			t.Errorf("- one run, + resumed after an interruption\n%s", diff)
		}
		if took < 3 {
			t.Errorf("%d steps were taken in all", took)
		}
	}
}

// resumed resumes a scan from a document, checks that an unfinished step takes at most gets
// requests, and returns the number of finished steps.
func resumed(t *testing.T, f *farStore, line []string, document string, steps, gets int) (finished int) {
	t.Helper()
	data, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	unfinished := strings.Count(string(data), `"unfinished": true`)
	f.reset()
	got := runApp(t, line)
	if most := unfinished*gets + steps; got.Code != exitFinding || int(f.gets.Load()) > most || unfinished == 0 {
		t.Errorf("%d GET with %d of %d steps unfinished\n%+v", f.gets.Load(), unfinished, steps, got)
	}
	return steps - unfinished
}

// outage is the duration without a server in the middle of a run.
var outage = flag.Duration("outage", 12*time.Second, "how long the server of TestOutageInMidRun is away")

// TestRequestsAtOnce: headers are read with the maximal number of concurrent requests, and data
// with more requests than computing workers, whatever -j says. Small objects are fetched once, and
// nothing is requested that the listing has already told.
func TestRequestsAtOnce(t *testing.T) {
	dir := t.TempDir()
	sharedRun(t, dir, 6, 30, 400, nil)
	f := newFarStore(t, dir)
	for _, tt := range []struct {
		line        string
		least, gets int64
	}{
		{"compare --cpu s3://bkt/cpu --npu s3://bkt/npu -j 1", 48, 210},
		{"compare --cpu s3://bkt/cpu --npu s3://bkt/npu -j 1 --s3-concurrency 8", 8, 210},
		{"overflow scan s3://bkt/npu -j 1", 48, 180},
		{"inspect s3://bkt/npu -j 1", 48, 180},
	} {
		f.reset()
		f.crowd = tt.least
		if got := runApp(t, strings.Fields(tt.line)); got.Code != 0 {
			t.Fatalf("%s: %+v", tt.line, got)
		}
		if f.most.Load() < tt.least {
			t.Errorf("%s: %d requests at a time, want %d", tt.line, f.most.Load(), tt.least)
		}
		if f.gets.Load() > tt.gets || f.heads.Load() > 24 {
			t.Errorf("%s: %d GET, want %d; %d HEAD", tt.line, f.gets.Load(), tt.gets, f.heads.Load())
		}
	}
}

// TestWithoutSuspects: a comparison without suspects fetches the same bytes as one without
// recomputation, and a comparison with suspects fetches more.
func TestWithoutSuspects(t *testing.T) {
	for name, suspects := range map[string]bool{"s7303_clean": false, "s7304_clean": false, "s7305_clean": false, "s7303_strong": true} {
		f := newFarStore(t, filepath.Join("../../testdata/golden/recompute/nets", name))
		fetched := func(mode string) [3]int64 {
			f.reset()
			if got := runApp(t, strings.Fields("compare --cpu s3://bkt/cpu --npu s3://bkt/npu -j 1 --check "+mode)); (got.Code == exitFinding) != suspects {
				t.Fatalf("%s: %+v", name, got)
			}
			return [...]int64{f.sent.Load(), f.gets.Load(), f.heads.Load()}
		}
		none, by := fetched("none"), fetched("suspects")
		if none[0] == 0 || (by == none) == suspects {
			t.Errorf("%s: %d bytes, GET and HEAD by suspects, %d by none", name, by, none)
		}
	}
}

// TestTransportIsNoOption: settings of the store are no option of a comparison: shards with
// different settings merge to the result of one run.
func TestTransportIsNoOption(t *testing.T) {
	dir, out := t.TempDir(), t.TempDir()
	sharedRun(t, dir, 3, 2, 100, func(rank, op int) bool { return rank == 1 })
	f := newFarStore(t, dir)
	line := func(name string, more ...string) []string {
		return append(strings.Fields("compare --cpu s3://bkt/cpu --npu s3://bkt/npu --format json,csv,html,junit,md,text --pictures 0 -out "+filepath.Join(out, name)), more...)
	}
	want := runApp(t, line("one"))
	if want.Code != exitFinding {
		t.Fatalf("%+v", want)
	}
	yaml := filepath.Join(out, "mine.yaml")
	if err := os.WriteFile(yaml, []byte("s3: {region: elsewhere, block: 1MiB, path-style: on}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	shards := [][]string{
		{"--s3-endpoint", f.endpoint, "--s3-region", "r", "--s3-path-style", "on", "--s3-block", "512KiB", "--s3-concurrency", "3", "--s3-retry-time", "1m", "--s3-cache", "8MiB", "--s3-spool", "0"},
		{"--config", yaml, "-j", "1", "--verbose", "--log-format", "json"},
		{"--compress", "--s3-no-sign=false", "--lang", "en", "-q", "--color", "never"},
	}
	t.Setenv("DUMPTOOL_S3_CACHE", "16MiB")
	for i, more := range shards {
		if got := runApp(t, line("shards", append(more, "--shard", fmt.Sprintf("%d/%d", i, len(shards)))...)); got.Code != 0 {
			t.Fatalf("%q: %+v", more, got)
		}
	}
	if got := runApp(t, []string{"merge", filepath.Join(out, "shards"), "-out", filepath.Join(out, "merged"), "--s3-retry-time", "7s"}); got.Code != want.Code || got.Out != want.Out {
		t.Errorf("%+v\nwant %+v", got, want)
	}
	if diff := cmp.Diff(filesBelow(t, filepath.Join(out, "one")), filesBelow(t, filepath.Join(out, "merged"))); diff != "" {
		t.Errorf("- one run, + three shards\n%s", diff)
	}
}

// TestOwnRoundsOnly: a shard opens only the dumps of its own rounds, with the maximal number of
// concurrent requests; rounds have the sizes of their files. Files that another shard reads are
// listed.
func TestOwnRoundsOnly(t *testing.T) {
	dir, out := t.TempDir(), t.TempDir()
	const ranks, ops = 8, 40
	sharedRun(t, dir, ranks, ops, 400, nil)
	f := newFarStore(t, dir)
	f.crowd = 32
	for _, tt := range []struct {
		line string
		// gets are for the golden and two rounds; a dump of each round more says that it is one.
		gets int64
	}{
		{"compare --cpu s3://bkt/cpu --npu s3://bkt/npu", 3 * ops},
		{"overflow scan s3://bkt/npu", 2 * ops},
		{"overflow analyze s3://bkt/npu", 2 * ops},
	} {
		for _, i := range []int{0, ranks/2 - 1} {
			f.reset()
			line := fmt.Sprintf("%s -j 1 --s3-concurrency 64 -out %s --shard %d/%d", tt.line, out, i, ranks/2)
			if got := runApp(t, strings.Fields(line)); got.Code != 0 {
				t.Fatalf("%s: %+v", line, got)
			}
			if gets, most := f.gets.Load(), tt.gets+ranks; gets > most || f.most.Load() < f.crowd || f.heads.Load() > 24 {
				t.Errorf("%s: %d GET, want at most %d; %d at a time; %d HEAD", line, gets, most, f.most.Load(), f.heads.Load())
			}
		}
	}
}

// TestSharesByBytes: rounds are divided by the bytes of their files: a round as large as the five
// others gets one of two shards alone.
func TestSharesByBytes(t *testing.T) {
	t.Parallel()
	dir, out := t.TempDir(), t.TempDir()
	const ranks, ops = 6, 3
	sharedRun(t, dir, ranks, ops, 1000, nil)
	large := t.TempDir()
	sharedRun(t, large, 1, ops, 6000, nil)
	rank3 := filepath.Join(dir, "npu", "step0", "rank3")
	if err := errors.Join(os.RemoveAll(rank3), os.CopyFS(rank3, os.DirFS(filepath.Join(large, "npu", "step0", "rank0"))), os.RemoveAll(filepath.Join(dir, "cpu"))); err != nil {
		t.Fatal(err)
	}
	npu := filepath.Join(dir, "npu")
	for command, tt := range map[string]struct {
		line, document string
		ofRank         *regexp.Regexp // a rank, or the number of dumps
	}{
		"compare": {"compare --cpu " + npu + " --npu " + npu, "compare.json", regexp.MustCompile(`rank(\d)/MatMul`)},
		"scan":    {"overflow scan " + npu, "overflow_scan.json", regexp.MustCompile(`"rank": *"(\d)"`)},
		"analyze": {"overflow analyze " + npu, "overflow.json", regexp.MustCompile(`"dumps": *(\d+)`)},
	} {
		var got []string
		for i := range 2 {
			if r := runArgs(t, append(strings.Fields(tt.line), "-out", filepath.Join(out, command), "--shard", fmt.Sprintf("%d/2", i))...); r.code != 0 {
				t.Fatalf("%s: %+v", command, r)
			}
			data, err := os.ReadFile(filepath.Join(out, command, fmt.Sprintf("shard-%05d-of-00002", i), tt.document))
			if err != nil {
				t.Fatal(err)
			}
			var found []string
			for _, m := range tt.ofRank.FindAllStringSubmatch(string(data), -1) {
				found = append(found, m[1])
			}
			slices.Sort(found)
			got = append(got, strings.Join(slices.Compact(found), " "))
		}
		slices.Sort(got)
		want := []string{"0 1 2 4 5", "3"}
		if command == "analyze" {
			want = []string{fmt.Sprint((ranks - 1) * ops), fmt.Sprint(ops)}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: shards have %q, want %q", command, got, want)
		}
	}
}

// TestReplacedBetweenShards replaces a dump in object storage by one of the same size after the
// first shard: the merge refuses until all shards have seen the same files.
func TestReplacedBetweenShards(t *testing.T) {
	dir, out := t.TempDir(), t.TempDir()
	sharedRun(t, dir, 3, 2, 100, nil)
	f := newFarStore(t, dir)
	const name = "npu/step0/rank1/MatMul.layer1.1.1.1700000000000100"
	dump, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	for k, line := range []string{"compare --cpu s3://bkt/cpu --npu s3://bkt/npu", "overflow scan s3://bkt/npu", "overflow analyze s3://bkt/npu"} {
		parts := filepath.Join(out, fmt.Sprint(k))
		shard := func(i int) {
			if got := runApp(t, append(strings.Fields(line), "-out", parts, "--resume", "--shard", fmt.Sprintf("%d/2", i))); got.Code != 0 {
				t.Fatalf("%s: %+v", line, got)
			}
		}
		shard(0)
		dump[len(dump)-1-k] ^= 1
		putObject(t, f.endpoint, name, dump)
		shard(1)
		report := filepath.Join(out, fmt.Sprint("report", k))
		got := runApp(t, []string{"merge", parts, "-out", report})
		if _, err := os.Stat(report); got.Code != exitIncomplete || !strings.Contains(got.Err, "shards 0 and 1 saw different files") || !os.IsNotExist(err) {
			t.Errorf("%s: %+v, %v", line, got, err)
		}
		shard(0)
		if got := runApp(t, []string{"merge", parts, "-out", report}); got.Code != 0 && got.Code != exitFinding {
			t.Errorf("%s again: %+v", line, got)
		}
	}
}

// TestAttempts kills a shard in the middle, runs two attempts of it side by side, and merges while
// one attempt lacks data because of object storage: the merge waits for a later, complete attempt.
// The result is always that of one run.
func TestAttempts(t *testing.T) {
	dir, out := t.TempDir(), t.TempDir()
	const ranks, ops = 4, 6
	sharedRun(t, dir, ranks, ops, 2000, func(rank, op int) bool { return rank == 1 && op > 3 })
	f := newFarStore(t, dir)
	line := func(name string, more ...string) []string {
		return append(strings.Fields("compare --cpu s3://bkt/cpu --npu s3://bkt/npu --format json,csv,md --pictures 0 -out "+filepath.Join(out, name)), more...)
	}
	if got := runApp(t, line("one")); got.Code != exitFinding {
		t.Fatalf("%+v", got)
	}
	parts := filepath.Join(out, "parts")
	document := func(i int) string {
		return filepath.Join(parts, fmt.Sprintf("shard-%05d-of-00002", i), "compare.json")
	}
	start := func(args []string) (*exec.Cmd, *bytes.Buffer) {
		var messages bytes.Buffer
		cmd := exec.Command("dumptool", args...)
		cmd.Stderr = &messages
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd, &messages
	}
	// A shard is killed while it reads.
	var killed *exec.Cmd
	at := make(chan bool)
	f.onGet.Store(new(func(n int64) {
		if n == 2*ops {
			at <- true
			<-at
		}
	}))
	f.reset()
	killed, _ = start(line("parts", "--shard", "0/2"))
	<-at
	if err := killed.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = killed.Wait() // returns that it was killed
	f.onGet.Store(nil)
	close(at)
	if _, err := os.Stat(document(0)); !os.IsNotExist(err) {
		t.Errorf("the shard that was killed has left a document: %v", err)
	}
	// Two attempts of it at the same time.
	first, one := start(line("parts", "--shard", "0/2", "--resume"))
	second, two := start(line("parts", "--shard", "0/2", "--resume"))
	for _, err := range []error{first.Wait(), second.Wait()} {
		if err != nil {
			t.Errorf("two attempts: %v\n%s\n%s", err, one, two)
		}
	}
	if got := runApp(t, []string{"merge", parts, "--missing"}); got.Code != 0 || got.Out != "1\n" {
		t.Errorf("missing: %+v", got)
	}
	// The other shard loses the store, and the merge waits for its next attempt.
	f.reset()
	f.onGet.Store(new(func(n int64) {
		if n == 2*ops {
			f.away.Store(true)
		}
	}))
	if got := runApp(t, line("parts", "--shard", "1/2", "--s3-retry-time", "200ms")); got.Code != exitIncomplete {
		t.Fatalf("%+v", got)
	}
	f.onGet.Store(nil)
	f.away.Store(false)
	merge, messages := start([]string{"merge", parts, "--wait", "5m", "-out", filepath.Join(out, "merged")})
	time.Sleep(time.Second) // time to see the first attempt's documents
	if _, err := os.Stat(filepath.Join(out, "merged", "compare.json")); !os.IsNotExist(err) {
		t.Errorf("the merge has taken a document that is to be made again: %v", err)
	}
	if got := runApp(t, line("parts", "--shard", "1/2", "--resume")); got.Code != 0 {
		t.Errorf("%+v", got)
	}
	if err := merge.Wait(); merge.ProcessState.ExitCode() != exitFinding {
		t.Errorf("%v\n%s", err, messages)
	}
	if diff := cmp.Diff(filesBelow(t, filepath.Join(out, "one")), filesBelow(t, filepath.Join(out, "merged"))); diff != "" {
		t.Errorf("- one run, + two shards\n%s", diff)
	}
}
