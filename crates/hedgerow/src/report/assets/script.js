
(() => {
  const root = document.documentElement, button = document.getElementById('theme'), tip = document.getElementById('tip');
  button.hidden = false;
  button.onclick = () => {
    const dark = root.dataset.theme ? root.dataset.theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
    root.dataset.theme = dark ? 'light' : 'dark';
  };
  // Titles are shown at once, beside the pointer, instead of after a while.
  document.addEventListener('pointermove', event => {
    const over = event.target.closest && event.target.closest('[title],[data-tip]');
    tip.hidden = !over;
    if (!over) return;
    if (over.title) { over.dataset.tip = over.title; over.removeAttribute('title'); }
    tip.textContent = over.dataset.tip;
    const x = event.clientX + 14, y = event.clientY + 16, w = tip.offsetWidth, h = tip.offsetHeight;
    tip.style.left = Math.max(6, Math.min(x, innerWidth - w - 6)) + 'px';
    tip.style.top = (y + h > innerHeight ? event.clientY - h - 8 : y) + 'px';
  });
})();
