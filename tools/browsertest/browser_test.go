// Package browsertest looks at report.html in a real Chromium: what no test without a
// browser sees. It builds dumptool, compares runs that are made up, and opens the pages
// from their files, as people do.
package browsertest

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
)

var (
	binaryFile string // dumptool
	browser    string // Chromium
	profiles   string // the folder of its profiles

	browsers = map[string]context.Context{} // that run, by language
	ends     []context.CancelFunc
)

func TestMain(m *testing.M) {
	code, err := prepared(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "browsertest:", err)
		code = 1
	}
	os.Exit(code)
}

// prepared finds the browser, builds dumptool and runs the tests.
func prepared(m *testing.M) (int, error) {
	var err error
	if browser, err = findBrowser(); err != nil {
		if os.Getenv("CI") == "true" {
			return 1, err
		}
		fmt.Println("NOTE: the tests of report.html in a browser were LEFT OUT:", err)
		return 0, nil
	}
	dir, err := os.MkdirTemp("", "browsertest")
	if err != nil {
		return 1, err
	}
	defer remove(dir)
	defer func() {
		for _, end := range ends {
			end()
		}
	}()
	binaryFile, profiles = filepath.Join(dir, "dumptool"), dir
	build := exec.Command("go", "build", "-o", binaryFile, "./cmd/dumptool")
	build.Dir = filepath.Join("..", "..")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return 1, fmt.Errorf("go build: %w", err)
	}
	return m.Run(), nil
}

// remove removes a folder in which processes of a browser that was told to end may
// write a little longer.
func remove(dir string) {
	for range 50 {
		if os.RemoveAll(dir) == nil {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	fmt.Println("NOTE: not removed:", dir)
}

// findBrowser finds Chromium: that of CHROMIUM, or of PATH.
func findBrowser() (string, error) {
	if path := os.Getenv("CHROMIUM"); path != "" {
		return exec.LookPath(path)
	}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("they need chromium in PATH, or its path in CHROMIUM (Debian: chromium)")
}

// view says how a page is looked at.
type view struct {
	width, height int
	hash          string
	dark          bool
	language      string // of the browser, en-US if empty
	noScript      bool
}

// tab is a page in the browser and what went wrong in it.
type tab struct {
	t   testing.TB
	ctx context.Context

	mu       sync.Mutex
	requests []string
	problems []string
}

// open opens a page in a browser of its language, in a tab that keeps nothing of others.
func open(t testing.TB, page string, v view) *tab {
	t.Helper()
	if v.language == "" {
		v.language = "en-US"
	}
	parent, ok := browsers[v.language]
	if !ok {
		var end context.CancelFunc
		parent, end = begin(t, v.language)
		browsers[v.language], ends = parent, append(ends, end)
	}
	return openIn(parent, t, page, v)
}

// begin starts a browser of a language.
func begin(t testing.TB, language string) (ctx context.Context, end context.CancelFunc) {
	t.Helper()
	profile, err := os.MkdirTemp(profiles, "profile")
	if err != nil {
		t.Fatal(err)
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(browser), chromedp.NoSandbox, chromedp.UserDataDir(profile),
		chromedp.Flag("headless", "new"), chromedp.Flag("accept-lang", language))
	alloc, end := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, _ = chromedp.NewContext(alloc) // ends with the browser
	if err := chromedp.Run(ctx); err != nil {
		end()
		t.Fatal(err)
	}
	return ctx, end
}

// openIn opens a page in a tab of a browser, which keeps nothing of other tabs.
func openIn(parent context.Context, t testing.TB, page string, v view) *tab {
	t.Helper()
	var storage cdp.BrowserContextID
	var id target.ID
	err := chromedp.Run(parent, chromedp.ActionFunc(func(ctx context.Context) (err error) {
		ctx = cdp.WithExecutor(ctx, chromedp.FromContext(ctx).Browser)
		if storage, err = target.CreateBrowserContext().WithDisposeOnDetach(true).Do(ctx); err == nil {
			id, err = target.CreateTarget("about:blank").WithBrowserContextID(storage).WithNewWindow(true).Do(ctx)
		}
		return err
	}))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := chromedp.NewContext(parent, chromedp.WithTargetID(id))
	t.Cleanup(cancel)
	ctx, done := context.WithTimeout(ctx, 5*time.Minute)
	t.Cleanup(done)
	b := &tab{t: t, ctx: ctx}
	chromedp.ListenTarget(ctx, b.listen)
	if v.width == 0 {
		v.width, v.height = 1280, 900
	}
	scheme := "light"
	if v.dark {
		scheme = "dark"
	}
	address := url.URL{Scheme: "file", Path: page, Fragment: v.hash}
	b.do(network.Enable(), log.Enable(), runtime.Enable(),
		emulation.SetDeviceMetricsOverride(int64(v.width), int64(v.height), 1, v.width < 640),
		emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}),
		emulation.SetScriptExecutionDisabled(v.noScript),
		chromedp.Navigate(address.String()))
	if !v.noScript {
		b.do(chromedp.WaitVisible("[role=tabpanel]", chromedp.ByQuery))
	}
	return b
}

// listen notes what the page asks for and complains about.
func (b *tab) listen(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		if !strings.HasPrefix(e.Request.URL, "data:") {
			b.requests = append(b.requests, e.Request.URL)
		}
	case *runtime.EventConsoleAPICalled:
		b.problems = append(b.problems, fmt.Sprintf("console: %v", e.Type))
	case *runtime.EventExceptionThrown:
		b.problems = append(b.problems, "exception: "+e.ExceptionDetails.Error())
	case *log.EventEntryAdded:
		b.problems = append(b.problems, "log: "+e.Entry.Text)
	}
}

func (b *tab) do(actions ...chromedp.Action) {
	b.t.Helper()
	if err := chromedp.Run(b.ctx, actions...); err != nil {
		b.t.Fatal(err)
	}
}

// eval is the value of an expression in the page.
func eval[T any](b *tab, expression string) T {
	b.t.Helper()
	var value T
	b.do(chromedp.Evaluate(expression, &value))
	return value
}

// quiet fails the test if the page loaded anything but itself or complained.
func (b *tab) quiet() {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.requests) != 1 {
		b.t.Errorf("requests %q, want the page alone", b.requests)
	}
	for _, p := range b.problems {
		b.t.Error(p)
	}
}

// shot keeps a picture of the page where SCREENSHOTS names a folder, and of a failed
// test always.
func (b *tab) shot(name string) {
	b.t.Helper()
	dir := os.Getenv("SCREENSHOTS")
	if dir == "" && b.t.Failed() {
		dir = filepath.Join(os.TempDir(), "dumptool-screenshots")
	}
	if dir == "" {
		return
	}
	var png []byte
	b.do(chromedp.FullScreenshot(&png, 100))
	if err := os.MkdirAll(dir, 0o777); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name+".png"), png, 0o666); err != nil {
		b.t.Fatal(err)
	}
}

// executor is the context for commands of the protocol.
func (b *tab) executor() context.Context {
	return cdp.WithExecutor(b.ctx, chromedp.FromContext(b.ctx).Target)
}
