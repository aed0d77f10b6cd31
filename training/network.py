# SPDX-License-Identifier: BSD-3-Clause
"""network.py - the library's network in PyTorch: its layers, the planes that it takes, and its
.npz file. docs/prior.md has the formulas, src/learn/net/prior.h the layout of planes."""
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from pack import NAMES, unpacked

CONV, DOWN, UP = 0, 1, 2  # kinds of layers, as in the file
RENDERED, RENDERED_MADE = 20, 8  # planes of a network for renderings (radiance.py)
TONE = 1.0                # one of 255 levels


def design(planes_out, width=32, blocks=2, scales=4):
    """Rows (kind, channels, the result that is added or -1, relu) of a U: at each size `blocks`
    times x + conv(relu(conv(x))), then half the size; and back. width: channels of each size, or of
    the largest, with twice as many at half of it."""
    rows, wide = [], [width << s for s in range(scales)] if isinstance(width, int) else width

    def add(kind, channels, result=-1, relu=0):
        rows.append((kind, channels, result, relu))
        return len(rows)

    def residual(channels, result):
        for _ in range(blocks):
            add(CONV, channels, relu=1)
            result = add(CONV, channels, result)
        return result

    skip, result = [], add(CONV, wide[0])
    for s in range(scales - 1):
        skip.append(residual(wide[s], result))
        result = add(DOWN, wide[s + 1])
    residual(wide[-1], result)
    for s in reversed(range(scales - 1)):
        residual(wide[s], add(UP, wide[s], skip[s]))
    add(CONV, planes_out)
    return np.array(rows, np.int64)


class Network(nn.Module):
    """Runs a list of layers. Result 0 is the input; layer i makes result i + 1, which is
    relu(product + bias + an earlier result), each part where the row asks for it."""

    def __init__(self, planes_in, layers):
        super().__init__()
        self.layers, channels = [tuple(int(v) for v in row) for row in layers], planes_in
        self.products = nn.ModuleList()
        for kind, out, _, _ in self.layers:
            self.products.append(
                nn.Conv2d(channels, out, 3, padding=1) if kind == CONV else
                nn.Conv2d(channels, out, 2, stride=2) if kind == DOWN else
                nn.ConvTranspose2d(channels, out, 2, stride=2))
            channels = out
        self.multiple = 1 << max(np.cumsum([(k == DOWN) - (k == UP) for k, *_ in self.layers]))

    @torch.no_grad()
    def start(self, variances, seed=0):
        """First weights: uniform within 1 / sqrt(inputs of a sum), but 0 for the second convolution
        of a block and the last layer. So it begins as the identity; `variances`, the number of last
        planes that are logarithms of variances, begin at -2."""
        g = torch.Generator().manual_seed(seed)
        for i, (product, (kind, _, add, _)) in enumerate(zip(self.products, self.layers)):
            w = product.weight
            bound = (w.shape[0] if kind == UP else w[0].numel()) ** -0.5
            zero = i == len(self.layers) - 1 or (kind == CONV and add >= 0)
            w.copy_(torch.zeros(w.shape) if zero else
                    bound * (2 * torch.rand(w.shape, generator=g) - 1))
            product.bias.zero_()
        self.products[-1].bias[-variances:] = -2
        return self

    def forward(self, x):
        results = [x]
        for product, (_, _, add, relu) in zip(self.products, self.layers):
            x = product(x)
            if add >= 0:
                x = x + results[add]
            x = F.relu(x) if relu else x
            results.append(x)
        return x

    def flat(self):
        """All weights in the file's order: W, then B of each layer."""
        return torch.cat([p.detach().reshape(-1).float().cpu() for product in self.products
                          for p in (product.weight, product.bias)])

    @torch.no_grad()
    def fill(self, flat):
        at, flat = 0, torch.as_tensor(np.asarray(flat, np.float32))
        for product in self.products:
            for p in (product.weight, product.bias):
                p.copy_(flat[at:at + p.numel()].view(p.shape))
                at += p.numel()
        if at != flat.numel():
            raise ValueError(f"weights: {flat.numel()} entries, but the layers have {at}")
        return self


def prior(channels=1, width=32, blocks=2, seed=0):
    """The network of a prior for pictures of so many channels."""
    return Network(2 * channels + 2, design(2 * channels, width, blocks)).start(channels, seed)


def beside(frames, guides, width=32, blocks=2, seed=0):
    """The network of a prior for a picture with frames before and after it and guides."""
    return Network(3 * frames + 2 + guides, design(2, width, blocks)).start(1, seed)


def rendered(width=32, blocks=2, seed=0):
    """The network of a prior for renderings."""
    return Network(RENDERED, design(RENDERED_MADE, width, blocks)).start(1, seed)


@torch.no_grad()
def begun(gray, frames, guides):
    """From the network of a gray prior: that of its middle frame, and nothing of the others yet."""
    net, middle = Network(3 * frames + 2 + guides, gray.layers), frames // 2
    for to, of in zip(net.products[1:], gray.products[1:]):
        to.load_state_dict(of.state_dict())
    first = net.products[0]
    first.weight.zero_()
    first.weight[:, [-1, frames + middle, 2 * frames + middle, 3 * frames]] = gray.products[0].weight
    first.bias.copy_(gray.products[0].bias)
    return net


@torch.no_grad()
def widened(gray, channels):
    """From the network of a gray prior: its D and s in every channel, from the mean over channels.
    The luminance is recovered as before, and colours are spread."""
    layers = [*gray.layers[:-1], (CONV, 2 * channels, *gray.layers[-1][2:])]
    wide = Network(2 * channels + 2, layers)
    for to, of in zip(wide.products[1:-1], gray.products[1:-1]):
        to.load_state_dict(of.state_dict())
    first, last = gray.products[0], gray.products[-1]
    taken = first.weight[:, :2].repeat_interleave(channels, 1) / channels  # F, M z; M, sigma
    wide.products[0].weight.copy_(torch.cat([taken, first.weight[:, 2:]], 1))
    wide.products[0].bias.copy_(first.bias)
    wide.products[-1].weight.copy_(last.weight.repeat_interleave(channels, 0))  # D, s
    wide.products[-1].bias.copy_(last.bias.repeat_interleave(channels, 0))
    return wide


@torch.no_grad()
def broadened(net, wide):
    """`wide`, of the same layers with more channels, made to compute what net does: new channels are
    heard by no old one yet."""
    for to, of, (kind, *_) in zip(wide.products, net.products, net.layers):
        turn = (lambda w: w.transpose(0, 1)) if kind == UP else (lambda w: w)
        weight, own = turn(to.weight), turn(of.weight)
        out, taken = own.shape[:2]
        weight[:out] = 0
        weight[:out, :taken] = own
        to.bias[:out] = of.bias
    return wide


# ---- the file

def write(path, network, channels, history=(), dtype=np.float16, beside=None, kind="net", **texts):
    """history: rows (loss, PSNR of validation); beside: frames and guides that it takes."""
    loss, psnr = np.array(history, np.float64).reshape(-1, 2).T
    arrays = {"kind": kind, "source": "synthetic pictures", "layers": np.array(network.layers),
              "weights": network.flat().numpy().astype(dtype)}
    if beside:
        arrays.update(kind="beside", frames=np.int64(beside[0]), guides=np.int64(beside[1]))
    else:
        arrays["channels"] = np.int64(channels)
    if len(loss):
        arrays.update(loss=loss, psnr=psnr)
    np.savez(path, **arrays, **texts)


def read(path):
    """The network of a .npz file, its channels, and the frames and guides that it takes."""
    with np.load(path, allow_pickle=False) as z:
        kind = str(z["kind"]) if "kind" in z else "net"
        names = ("frames", "guides") if "frames" in z else ("channels",)
        missing = [name for name in ("layers", "weights", *names) if name not in z]
        if missing:
            raise ValueError(f"{path}: array '{missing[0]}' is missing; give a model of kind net, "
                             "beside or rendered")
        channels = int(z["channels"]) if "channels" in z else 1
        beside = tuple(int(z[name]) if name in z else 0 for name in ("frames", "guides"))
        planes = 3 * beside[0] + 2 + beside[1] if any(beside) else 2 * channels + 2
        planes = RENDERED if kind == "rendered" else planes
        weights = unpacked(*map(z.get, NAMES)) if "weights_scale" in z else z["weights"]
        net = Network(planes, z["layers"]).fill(weights)
        net.kind = kind
        return net, channels, beside


# ---- planes

def pull_push(z, weight):
    """Spreads z [B][C][H][W], 0 where unknown, by a pyramid: at each level the mean of what is
    known under a cell, or where nothing is, the next level between its cells. weight: 1 or 0."""
    sums = [(z, weight)]
    while max(sums[-1][0].shape[-2:]) > 1:
        odd = [n % 2 for n in sums[-1][0].shape[-2:]]
        sums.append(tuple(4 * F.avg_pool2d(F.pad(a, (0, odd[1], 0, odd[0])), 2) for a in sums[-1]))
    filled = sums[-1][0] / sums[-1][1].clamp_min(1e-30)
    for value, weight in reversed(sums[:-1]):
        height, width = value.shape[-2:]
        up = F.interpolate(filled, scale_factor=2, mode="bilinear")[..., :height, :width]
        filled = torch.where(weight > 0, value / weight.clamp_min(1e-30), up)
    return filled


def planes(values, known, sigma, tone=TONE):
    """values [B][C][H][W], known [B][1][H][W] of 0 and 1, sigma [B][1][1][1], the noise. Returns
    the network's planes, F, and mean and unit of normal values (v - mean) / unit."""
    count = known.sum((2, 3), keepdim=True)
    mean = (values * known).sum((2, 3), keepdim=True) / count
    square = ((values - mean) ** 2 * known).sum((2, 3), keepdim=True) / count
    unit = (square.mean(1, keepdim=True) + tone * tone).sqrt()
    z = (values - mean) / unit * known
    filled = pull_push(z, known.expand_as(z))
    level = (sigma / unit).expand(-1, 1, *values.shape[2:])
    return torch.cat([filled, z, known, level], 1), filled, mean, unit


# A fit of the samples by the guides: linear within cells of a pyramid, of which a finer one counts
# the more samples it has around it. FEW samples count nothing, FEW + MORE all. LEAST keeps sums of
# float32 apart from 0, and guides beyond MOST count as MOST.
SPREAD, RIDGE, LEAST, MOST, FEW, MORE = 1.2, 0.1, 1e-4, 8.0, 5.0, 10.0


def halved(moments):
    odd = [n % 2 for n in moments.shape[-2:]]
    return 4 * F.avg_pool2d(F.pad(moments, (0, odd[1], 0, odd[0])), 2)


def spread_out(moments):
    """By a Gauss function of SPREAD cells, of sum 1."""
    k = torch.arange(-4, 5, device=moments.device)
    weight = torch.exp(-0.5 * (k / SPREAD) ** 2)
    weight = (weight / weight.sum()).expand(moments.shape[1], 1, 1, -1)
    moments = F.conv2d(moments, weight, padding=(0, 4), groups=moments.shape[1])
    return F.conv2d(moments, weight.transpose(2, 3), padding=(4, 0), groups=moments.shape[1])


def solved(A, b):
    """A x = b by elimination, for lists of tensors: A [k][k] symmetric and definite, b [k]."""
    A, b, k = [list(row) for row in A], list(b), len(b)
    for i in range(k):
        for j in range(i + 1, k):
            factor = A[j][i] / A[i][i]
            A[j] = [u - factor * v for u, v in zip(A[j], A[i])]
            b[j] = b[j] - factor * b[i]
    for i in reversed(range(k)):
        b[i] = (b[i] - sum((A[i][j] * b[j] for j in range(i + 1, k)), 0 * b[i])) / A[i][i]
    return b


def local_fit(moments, guides, cells):
    """Coefficients of the guides and the constant, [B][guides + 1], and the samples around a cell."""
    whole = max(moments.shape[-2:]) == 1
    m = moments if whole else spread_out(moments)
    weight = m[:, :1].clamp_min(1e-12)
    count = m[:, :1] * (1.0 if whole else 4 * np.pi * SPREAD ** 2)
    at = {pair: (m[:, i:i + 1] / weight) for i, pair in enumerate(cells)}
    mean = [at[0, i + 1] for i in range(guides + 1)]
    C = [[at[min(i, j) + 1, max(i, j) + 1] - mean[i] * mean[j] for j in range(guides + 1)]
         for i in range(guides)]
    for i in range(guides):
        C[i][i] = C[i][i] + RIDGE / count.clamp_min(1e-3) + LEAST
    a = solved([row[:guides] for row in C], [row[guides] for row in C])
    constant = mean[guides] - sum(x * y for x, y in zip(a, mean))
    return torch.cat([*a, constant], 1), count


def guided_fit(z, known, guides):
    """Of z [B][1][H][W] at the known pixels by guides [B][G][H][W], in normal values both."""
    count, planes = guides.shape[1], torch.cat([torch.ones_like(z), guides, z], 1)
    cells = [(i, j) for i in range(count + 2) for j in range(i, count + 2)]
    levels = [torch.cat([planes[:, i:i + 1] * planes[:, j:j + 1] for i, j in cells], 1) * known]
    while max(levels[-1].shape[-2:]) > 1:
        levels.append(halved(levels[-1]))
    fit = None
    for moments in reversed(levels):
        height, width = moments.shape[-2:]
        if fit is not None:
            fit = F.interpolate(fit, scale_factor=2, mode="bilinear")[..., :height, :width]
        if moments is levels[0] and fit is not None:
            break  # a pixel by itself says nothing
        own, n = local_fit(moments, count, cells)
        share = 1.0 if fit is None else ((n - FEW) / MORE).clamp(0, 1)
        fit = own if fit is None else share * own + (1 - share) * fit
    fit = (fit[:, :count] * guides).sum(1, keepdim=True) + fit[:, count:]
    low, high = z.amin((2, 3), keepdim=True), z.amax((2, 3), keepdim=True)  # around 0, and 0
    half = (high - low) / 2
    return torch.minimum(torch.maximum(fit, low - half), high + half)


def beside_planes(values, known, sigma, guides, tone=TONE):
    """values, known [B][T][H][W] of the frames, sigma [B][1][1][1], guides [B][G][H][W] of any units,
    0 everywhere: missing. Returns the planes, F, and mean and unit of normal values, which are those
    of all samples of the frames. Planes: samples of each frame as pull_push spreads them, samples,
    known, sigma, guides in normal values of their own, F. F is the fit of the middle frame by the
    guides, and what pull_push makes of the rest."""
    count = known.sum((1, 2, 3), keepdim=True)
    mean = (values * known).sum((1, 2, 3), keepdim=True) / count
    square = ((values - mean) ** 2 * known).sum((1, 2, 3), keepdim=True) / count
    unit = (square + tone * tone).sqrt()
    z = (values - mean) / unit * known
    level = (sigma / unit).expand(-1, 1, *values.shape[2:])
    off = guides - guides.mean((2, 3), keepdim=True)
    spread = off.square().mean((2, 3), keepdim=True).sqrt()
    own = (off / torch.where(spread > 0, spread, 1.0)).clamp(-MOST, MOST)
    each, middle = pull_push(z, known), slice(z.shape[1] // 2, z.shape[1] // 2 + 1)
    filled = each[:, middle]
    if guides.shape[1]:
        shown = known[:, middle]
        fit = guided_fit(z[:, middle], shown, own) * (spread > 0).any(1, keepdim=True)
        filled = fit + pull_push((z[:, middle] - fit) * shown, shown)
    return torch.cat([each, z, known, level, own, filled], 1), filled, mean, unit


def reflected(extent, padded):
    """Entries that padding repeats: reflection, the edge itself once."""
    i = torch.arange(padded) % max(1, 2 * (extent - 1))
    return torch.where(i < extent, i, 2 * (extent - 1) - i)


def run(network, X):
    """On planes [B][P][H][W], padded to what the network can halve."""
    height, width = X.shape[2:]
    rows, columns = (reflected(n, -n % network.multiple + n).to(X.device) for n in (height, width))
    return network(X[:, :, rows][..., columns])[..., :height, :width]


@torch.no_grad()
def recover(network, values, known, sigma=0.0, guides=None):
    """A picture [C][H][W] from its known pixels [H][W], by one pass. Known ones without noise are
    kept. With guides [G][H][W], as many as the network takes: the middle one of frames [T][H][W],
    from the known pixels [T][H][W] of each."""
    device = next(network.parameters()).device
    v, k = (torch.as_tensor(a, dtype=torch.float32, device=device)[None] for a in (values, known))
    noise, own = torch.full((1, 1, 1, 1), float(sigma), device=device), slice(len(values))
    if guides is None:
        k = k[None]
        X, filled, mean, unit = planes(v, k, noise)
    else:
        own = slice(len(values) // 2, len(values) // 2 + 1)
        g = torch.as_tensor(guides, dtype=torch.float32, device=device)[None]
        X, filled, mean, unit = beside_planes(v, k, noise, g)
        v, k = (a[:, own] for a in (v, k))
        own = slice(1)
    out = mean + unit * (filled + run(network, X)[:, own])
    return (out if sigma else torch.where(k > 0, v, out))[0]
