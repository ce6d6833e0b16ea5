//! Connections to a worker, plain or over TLS. Handshakes run beside each other, and none may take long.

use std::io;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use futures::Stream;
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio_rustls::TlsAcceptor;
use tokio_stream::wrappers::ReceiverStream;

use super::connection::Connection;
use crate::tls::ServerTls;

/// How long a handshake may take.
const HANDSHAKE: Duration = Duration::from_secs(5);

/// Connections that wait to be served.
const WAITING: usize = 16;

/// The connections of a listener, from inside of a runtime.
pub(crate) fn connections(
    listener: TcpListener,
    tls: Option<Arc<ServerTls>>,
) -> io::Result<impl Stream<Item = io::Result<Connection>>> {
    listener.set_nonblocking(true)?;
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let (sender, receiver) = mpsc::channel(WAITING);
    tokio::spawn(async move {
        while !sender.is_closed() {
            match listener.accept().await {
                Ok((stream, _)) => {
                    tokio::spawn(prepare(stream, tls.clone(), sender.clone()));
                }
                // Too many open files, for one: others may close theirs.
                Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
            }
        }
    });
    Ok(ReceiverStream::new(receiver))
}

/// Shakes hands and hands over. Whoever fails is dropped: they see a closed connection, with an alert of TLS.
async fn prepare(stream: TcpStream, tls: Option<Arc<ServerTls>>, sender: mpsc::Sender<io::Result<Connection>>) {
    // Only latency would suffer.
    let _ = stream.set_nodelay(true);
    let connection = match tls {
        Some(tls) => {
            let accepted = TlsAcceptor::from(tls.config()).accept(stream);
            let Ok(Ok(stream)) = tokio::time::timeout(HANDSHAKE, accepted).await else { return };
            Connection::Tls(Box::new(stream))
        }
        None => Connection::Plain(stream),
    };
    let _ = sender.send(Ok(connection)).await;
}
