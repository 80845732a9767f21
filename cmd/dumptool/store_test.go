package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/rogpeppe/go-internal/txtar"

	"dumptool/internal/config"
	"dumptool/internal/store"
)

// The two places of the same data. Both paths have the same length, so that tables have the same
// columns.
const (
	localPlace  = "filesdir"
	remotePlace = "s3://bkt"
)

// storeLines are command lines for everything that reads or writes files. @ stands for the place.
var storeLines = []string{
	"inspect @/in/network/npu --stats",
	"inspect @/in/network/npu/MatMul.fc.6.16.1624605159830177 @/in/network/cpu/fc.npy --json",
	"inspect @/in/golden/inputs",
	"inspect @/in/golden/convert/dumps --stats --json",
	"convert -d @/in/golden/convert/dumps -out @/out",
	"convert -d @/in/golden/convert/dumps -out @/out -f NCHW -t pt --json",
	"convert -d @/in/golden/inputs -out @/out -f NCHW",
	"convert -d @/in/network/npu/MatMul.fc.6.16.1624605159830177 -out @/out -f ND -t txt",
	"convert -d @/in/network/npu,@/in/sample -out @/out -t bin",
	"convert -d @/in/golden/inputs -out @/out -t safetensors",
	"overflow decode @/in/sample @/in/golden/convert/dumps",
	"overflow decode @/in/sample -out @/out",
	"overflow analyze -d @/in/sample -out @/out --format text,json,csv,md",
	"overflow scan @/in --all",
	"overflow scan @/in/network -out @/out --format text,json,csv,md",
	"overflow watch @/in/sample",
	"compare --cpu @/in/network/cpu --npu @/in/network/npu --inputs",
	"compare --cpu @/in/network/cpu --npu @/in/network/npu -out @/out --format text,csv,json,junit,md,html,msaccucmp",
	"compare --cpu @/in/network/cpu --npu @/in/network/npu -out @/in/network/report --format json",
	"compare --cpu @/in/network/cpu/fc.npy --npu @/in/network/npu/MatMul.fc.6.16.1624605159830177",
	"compare --cpu @/in/golden/compare/cpu --npu @/in/golden/compare/npu -out @/out --diff-order worst --diff-cnt 5",
	"compare --cpu @/in/network/cpu --npu @/in/network/npu --op-config @/in/side/limits.csv --map-node-dict @@/in/side/map.json --ops-from @/in/side/ops.txt",
	"compare --cpu @/in/network/cpu --npu @/in/network/npu -out @/in/network/cpu",
	"compare detail --cpu @/in/network/cpu --npu @/in/network/npu --op conv1 -out @/out",
	"compare determinism @/in/network/npu @/in/network/npu/ @/in/network/cpu -out @/out --format json",
	"compare judge @/in/side/compare.json --rtol 0.01 --format csv",
	"compare --cpu @/in/network/cpu --npu @/in/network/npu --baseline @/in/side/compare.json",
	"compare --cpu @/in/network/cpu --npu @/in/network/npu --baseline @/out/base.json --update-baseline",
	"report @/in/side/compare.json -out @/out/page.html --show-graph",
	"report @/in/side/compare.json",
	"perf @/in/perf/run",
	"perf @/in/golden/perf/net --baseline @/in/golden/perf/baseline -out @/out --format json,csv,md",
	"hpaa import --pieces @/in/hpaa/run/pieces.jsonl --result @/out/logs --npu-dir @/in/hpaa/run/dump_data -out @/out/npu",
	"hpaa import @/in/hpaa/run --piece-pattern {node}.{piece}.dat --dtype int8 --shape 2 --encoding hex -out @/out --ignore-others",
	"find -d @/in/find/dump resnet.py:88",
	"find -d @/in/find/dump --paths Conv2D-op515 --up 2 --stack",
	"find -d @/in/find/dump/rank_0/Net/0/0 --json Conv2D-op515",
	"find -d @/in/golden/mindspore --json conv",
	"config check @/in/config/acl.json @/in/check/dump --format json",
	"config check --fix @/in/config/acl.json",
	"config check --format sarif @/in/config/acl.json",
	"config explain @/in/config/acl.json",
	"convert -d @/in/network -out @/in/network/report && convert -d @/in/network -out @/in/network/report -t bin",
	"convert -d @/in/network/npu -out @/out && convert -d @/in/network/npu -out @/out --skip-existing",
	"compare --cpu @/in/network/cpu --npu @/in/network/npu -out @/out --format json,csv,html && compare --cpu @/in/network/cpu --npu @/in/network/npu -out @/out --format csv --rtol 0.5",
	"convert -d @/in/golden/convert/dumps -out @/out --shard 0/2 && convert -d @/in/golden/convert/dumps -out @/out --shard 1/2 && convert merge @/out",
	"overflow scan @/in/network --shard 0/2 -out @/out/parts && overflow scan @/in/network --shard 1/2 -out @/out/parts && overflow scan merge @/out/parts",
	// Missing files, and files of another kind.
	"inspect @/none", "inspect @/in/networ", "convert -d @/none -out @/out",
	"compare --cpu @/none --npu @/in/network/npu", "overflow scan @/none", "find -d @/none conv",
	"report @/none.json", "perf @/none", "hpaa import --pieces @/none", "config check @/none", "config explain @/none",
	"compare judge @/none", "compare determinism @/none @/in/network/npu",
	"compare --cpu @/in/network/cpu --npu @/in/network/npu --op-config @/none --map-node-dict @@/none",
}

// TestStore runs command lines on local files and on the same files in object storage: output, exit
// status and files must be equal except for the paths.
func TestStore(t *testing.T) {
	t.Chdir(t.TempDir())
	storeInputs(t, filepath.Join(localPlace, "in"))
	endpoint := storeServer(t)
	keep := placeFiles(t, localPlace, "")
	for key, data := range keep {
		putObject(t, endpoint, key, data)
	}
	for _, line := range storeLines {
		t.Run(line, func(t *testing.T) {
			want := runInPlace(t, line, localPlace)
			got := runInPlace(t, line, remotePlace)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("- local, + remote:\n%s", diff)
			}
			for name := range want.Files {
				if err := os.Remove(filepath.Join(localPlace, name)); err != nil {
					t.Fatal(err)
				}
			}
			for name := range got.Files {
				if err := store.Remove(store.Join(remotePlace, name)); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
	if got := placeFiles(t, remotePlace, ""); !maps.EqualFunc(got, keep, bytes.Equal) {
		t.Errorf("%d inputs are %d or others now", len(keep), len(got))
	}
}

// outputs are the output folders of the command lines.
var outputs = []string{"out", "in/network/report", "in/hpaa/run/result"}

// TestStoreMessages checks messages that only paths of object storage give.
func TestStoreMessages(t *testing.T) {
	endpoint := storeServer(t)
	putObject(t, endpoint, "run7/a.npy", nil)
	putObject(t, endpoint, "run7/x", []byte("text"))
	noBucket := "no such bucket; endpoint " + endpoint + ", path style (AWS_ENDPOINT_URL_S3)"
	for _, tt := range []struct {
		line string
		code int
		want string
	}{
		{"inspect s3://", 3, "dumptool: s3://: no bucket is named, want s3://bucket/key"},
		{"inspect s3://none", 3, "dumptool: s3://none: " + noBucket},
		{"overflow analyze obs://none/run7", 3, "obs://none/run7: " + noBucket},
		{"find -d s3://none/run7 conv", 2, "s3://none/run7: " + noBucket},
		{"report s3://none/run7", 3, "dumptool: s3://none/run7: " + noBucket},
		{"config check s3://none/run7", 3, "dumptool: s3://none/run7: " + noBucket},
		{"compare --cpu s3://bkt/run7 --npu s3://bkt/run70", 3, "dumptool: s3://bkt/run70: no such object, and none below it"},
		{"inspect s3://bkt/run7/x/y", 3, "dumptool: s3://bkt/run7/x/y: no such object, and none below it"},
		{"report s3://bkt/run7/z", 3, "dumptool: s3://bkt/run7/z: no such object"},
		{"compare --cpu s3://bkt/run7 --npu s3://bkt/run7/x --op-config s3://bkt/run7/z", 2, "--op-config: s3://bkt/run7/z: no such object"},
		// Outputs.
		{"convert -d s3://bkt/run7 -out s3://bkt/run7/x", 3, "s3://bkt/run7/x is a file; -out wants a folder"},
		{"compare --cpu s3://bkt/run7 --npu s3://bkt/run7/x -out obs://bkt/run7/", 2, "-out obs://bkt/run7/ is the folder of --cpu: choose another folder"},
		{"compare --cpu s3://bkt/run7 --npu s3://bkt/run7/x -out s3://none/x", 3, "cannot write to s3://none/x/cpu_vs_npu.csv: " + noBucket},
		{"report s3://bkt/run7/x -out obs://bkt/run7/x", 2, "output obs://bkt/run7/x is also the input s3://bkt/run7/x"},
		{"config new overflow --dump-path /data/dump -out s3://bkt/run7/a.npy", 2, "s3://bkt/run7/a.npy already exists"},
		{"convert -d s3://bkt/run7 -out x -f NCHW -c s3://bkt/run7", 2, "-c: s3://bkt/run7 is in object storage: Python runs scripts from a local folder only"},
	} {
		r := runApp(t, strings.Fields(tt.line))
		if r.Code != tt.code || !strings.Contains(r.Out+r.Err, tt.want) {
			t.Errorf("%s\n%d\n%s%s\nwant %d\n%s", tt.line, r.Code, r.Out, r.Err, tt.code, tt.want)
		}
	}
}

// placeResult is the outcome of a command line, with @ for the place.
type placeResult struct {
	Code     int
	Out, Err string
	Files    map[string]string
}

// runApp runs a command line with the environment of the process.
func runApp(t *testing.T, args []string) placeResult {
	t.Helper()
	streams, _, out, msg := testStreams()
	a := newApp(streams)
	a.settings = config.Options{LookupEnv: os.LookupEnv}
	code := a.run(t.Context(), args)
	return placeResult{code, out.String(), msg.String(), map[string]string{}}
}

func runInPlace(t *testing.T, line, place string) placeResult {
	t.Helper()
	r := placeResult{Files: map[string]string{}}
	for one := range strings.SplitSeq(line, " && ") {
		args := strings.Fields(one)
		for i, arg := range args {
			if at, isFile := strings.CutPrefix(arg, "@@"); isFile {
				args[i] = "@" + place + at
			} else {
				args[i] = strings.ReplaceAll(arg, "@", place)
			}
		}
		got := runApp(t, args)
		r.Code, r.Out, r.Err = got.Code, r.Out+got.Out, r.Err+got.Err
	}
	plain := strings.NewReplacer(localPlace, "@", remotePlace, "@")
	missing := regexp.MustCompile(`(?:open |stat )?(@[^ :]*: no such )(?:file or directory|file or folder|object, and none below it|object)`)
	local := regexp.MustCompile(`no such file or folder: (@[^ \n]*)`)
	said := func(text string) string {
		return missing.ReplaceAllString(local.ReplaceAllString(plain.Replace(text), "$1: no such file"), "${1}file")
	}
	// In object storage fewer headers are read for the types of a run, and none of the files beside
	// it.
	overview := regexp.MustCompile(`(?m)^(?:Types|Sides) .*\n|"(?:types":\[[^]]*\]|headers":\d+|reference":"[^"]*"|npu":"[^"]*"),`)
	r.Out, r.Err = overview.ReplaceAllString(said(r.Out), ""), said(r.Err)
	for _, folder := range outputs {
		for name, data := range placeFiles(t, place, folder) {
			if strings.HasSuffix(name, ".jsonl") {
				data = nil // parts have the times or tags of files
			}
			data = regexp.MustCompile(`"(listing|folder)": "[^"]*"`).ReplaceAll(data, []byte(`"$1": ""`)) // of tags, and of the whole path
			r.Files[name] = plain.Replace(string(data))
		}
	}
	return r
}

// placeFiles reads all files below a folder of a place.
func placeFiles(t *testing.T, place, folder string) map[string][]byte {
	t.Helper()
	store.UseObjects(func() (store.Objects, error) { return store.NewS3(store.S3Settings{Getenv: os.Getenv}) })
	all := map[string][]byte{}
	err := store.WalkDir(store.Join(place, folder), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		f, err := store.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		name, err := store.Rel(place, path)
		if err == nil {
			all[name], err = io.ReadAll(io.NewSectionReader(f, 0, f.Size()))
		}
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return all
}

// storeServer starts object storage in this process, with a bucket bkt, and lets the
// environment name it.
func storeServer(t *testing.T) string {
	t.Helper()
	return watchedServer(t, func(*http.Request) {})
}

// watchedServer is storeServer with a callback for requests.
func watchedServer(t *testing.T, watch func(*http.Request)) string {
	t.Helper()
	fake := gofakes3.New(s3mem.New(), gofakes3.WithLogger(gofakes3.DiscardLog()), gofakes3.WithAutoBucket(false))
	handler := fake.Server()
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		watch(r)
		handler.ServeHTTP(w, r)
	}))
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	srv.Start()
	t.Cleanup(srv.Close)
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL_S3": srv.URL, "AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_SESSION_TOKEN": "", "AWS_PROFILE": "",
		"AWS_EC2_METADATA_DISABLED": "true", "AWS_CONFIG_FILE": os.DevNull, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull, "AWS_CA_BUNDLE": "",
	} {
		t.Setenv(name, value)
	}
	putObject(t, srv.URL, "", nil)
	return srv.URL
}

// TestOverviewRequests: a bucket is described after one listing and at most 16 headers, however
// many objects there are.
func TestOverviewRequests(t *testing.T) {
	var lists, gets atomic.Int64
	endpoint := watchedServer(t, func(r *http.Request) {
		switch {
		case r.Method == http.MethodGet && r.URL.Query().Has("list-type"):
			lists.Add(1)
		case r.Method == http.MethodGet:
			gets.Add(1)
		}
	})
	dump, err := os.ReadFile(filepath.Join("..", "..", "testdata", "network", "npu", "Relu.relu1.2.16.1624605159829697"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 40 {
		putObject(t, endpoint, fmt.Sprintf("in/Relu.layer%d_ReLU-op%d.%d.16.162460515982%04d", i, i, i, i), dump)
	}
	lists.Store(0)
	gets.Store(0)
	r := runApp(t, []string{remotePlace + "/in"})
	if r.Code != 0 || !strings.Contains(r.Out, "40") {
		t.Errorf("%+v", r)
	}
	if lists.Load() != 1 || gets.Load() == 0 || gets.Load() > 16 {
		t.Errorf("%d listings and %d reads, want 1 and at most 16", lists.Load(), gets.Load())
	}
}

// putObject makes an object in the bucket bkt, or without a key the bucket.
func putObject(t *testing.T, endpoint, key string, data []byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, endpoint+"/bkt/", bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	req.URL.Path += key
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s", key, answer.Status)
	}
}

// storeInputs makes the inputs of the command lines.
func storeInputs(t *testing.T, dir string) {
	t.Helper()
	top := filepath.Join(testFolder, "..", "..", "testdata")
	for _, name := range []string{"network", "sample", "golden/convert/dumps", "golden/compare/cpu", "golden/compare/npu", "golden/inputs", "golden/perf", "golden/mindspore"} {
		if err := os.CopyFS(filepath.Join(dir, name), os.DirFS(filepath.Join(top, name))); err != nil {
			t.Fatal(err)
		}
	}
	files := map[string][]byte{
		"side/limits.csv": []byte("name,mode,rel_th,abs_th\nconv1,,0.5,0.5\n"),
		"side/map.json":   []byte(`{"fc": "fc"}`),
		"side/ops.txt":    []byte("conv1\nfc\n"),
		"config/acl.json": []byte("{\"dump\": {\"dump_path\": \"/home/d\", \"dump_mode\": \"al\", \"dump_lst\": []}}\n"),
		"golden/mark.txt": []byte("no tensor"),
		"network/npu/..x": []byte("odd"),
		"network/npu/汉 字": []byte("odd"),
	}
	for place, script := range map[string]string{"perf": "perf", "hpaa": "hpaa_import", "find": "find", "check": "config_check_tree"} {
		archive, err := txtar.ParseFile(filepath.Join(testFolder, "testdata", "script", script+".txtar"))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range archive.Files {
			files[place+"/"+f.Name] = f.Data
		}
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, files[name], 0o666); err != nil {
			t.Fatal(err)
		}
	}
	got := runInPlace(t, "compare --cpu @/in/network/cpu --npu @/in/network/npu -out @/in/side --format json --show-graph", localPlace)
	if got.Code > 1 {
		t.Fatalf("%+v", got)
	}
}

// testFolder is the folder of this package: tests may change the working folder.
var testFolder, _ = os.Getwd()
